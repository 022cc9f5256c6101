"""Riemannian batch normalisation, written once for all metrics.

Shaped like :func:`torch.nn.functional.batch_norm`: stateless, running buffers updated in place. A
:class:`~spdnorm.functional.kernels.NormKernel` supplies what depends on the metric.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spdnorm.functional.kernels import NormKernel
from spdnorm.functional.layout import prepare
from spdnorm.geometry import Average, plain_average
from spdnorm.linalg import Spectrum, check_range, clampm, full_precision, safe_rsqrt
from spdnorm.linalg.beside import Branch
from spdnorm.stats import is_empty, update_average, write

#: What to do about a result that overflows.
LEFT_RANGE = (
    "`scale` (or 1/theta) raises eigenvalues of `x` to too high a power. Lower it, give `x` less spread (`floor` "
    "raises small eigenvalues), or use float64"
)


class Statistics(NamedTuple):
    """Barycentre (..., n, n), in the kernel's space, variance (...), and the barycentre's spectrum where it is known.

    Examples
    --------
    >>> from spdnorm.functional import Statistics
    >>> Statistics(torch.eye(2), torch.tensor(1.0)).variance
    tensor(1.)
    """

    mean: Tensor
    variance: Tensor
    decomposed: Spectrum | None = None


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a method does besides its metric.

    Attributes
    ----------
    control_variance : bool
        Divide deviations by the standard deviation.
    stats_grad : bool
        Let gradients flow through the batch's statistics.
    mean_iterations : int or None
        Fixed-point steps towards the barycentre; None goes on to convergence.
    eps : float
        Added to the variance.
    floor : float or None
        Raise eigenvalues of the input to ``floor`` first, for metrics without singular points.
    average : Average
        How samples are averaged; an all-reduced average synchronises processes.

    Examples
    --------
    >>> from spdnorm.functional import Options
    >>> Options(mean_iterations=None).mean_iterations is None  # iterate the barycentre to convergence
    True
    """

    control_variance: bool = True
    stats_grad: bool = True
    mean_iterations: int | None = 1
    eps: float = 1e-5
    floor: float | None = None
    average: Average = plain_average

    def __post_init__(self) -> None:
        if self.mean_iterations is not None and self.mean_iterations < 0:
            raise ValueError(f"`mean_iterations` must be 0 or more, or None, got {self.mean_iterations}")
        if self.eps < 0:
            raise ValueError(f"`eps` must be 0 or more, got {self.eps}")


def batch_statistics(y: Tensor, kernel: NormKernel[Any], options: Options) -> tuple[Statistics, Any]:
    """Statistics of a batch in the kernel's space, and the deviations from its mean."""
    mean = kernel.mean(y if options.stats_grad else y.detach(), options.average, options.mean_iterations)
    # Detached once more, because a kernel's own parameters (the metric M) enter the mean too.
    mean = mean if options.stats_grad else mean.detach()
    deviation = kernel.deviation(y, mean)
    if not options.control_variance:
        return Statistics(mean, y.new_ones(mean.shape[:-2])), deviation
    squared = kernel.squared_norm(deviation)
    variance = options.average(squared if options.stats_grad else squared.detach())
    return Statistics(mean, variance), deviation


def running_statistics(
    kernel: NormKernel[Any], running_mean: Tensor, running_var: Tensor | None, options: Options
) -> Statistics:
    """Buffers as statistics in the kernel's space.

    Copies, so that a step of training, which moves the buffers in place, leaves alone the graph of what came before.
    """
    mean = kernel.load(running_mean.clone())
    if running_var is None:
        if options.control_variance:
            raise ValueError("`running_var` is missing: evaluation with a `running_mean` needs both")
        return Statistics(mean, mean.new_ones(mean.shape[:-2]))
    return Statistics(mean, running_var.clone())


@torch.no_grad()
def update_running_mean(
    kernel: NormKernel[Any],
    running_mean: Tensor,
    mean: Tensor,
    decomposed: Spectrum | None,
    momentum: float | Tensor,
) -> None:
    """Move the buffer towards the batch's mean along the geodesic (paper, Alg. 1)."""
    old = kernel.load(running_mean)
    # A number is filled in on the device: copying it there would keep a CUDA graph from being captured.
    t = momentum if isinstance(momentum, Tensor) else torch.full((), momentum, dtype=old.dtype, device=old.device)
    new = kernel.interpolate(old, mean.detach(), t) if decomposed is None else kernel.towards(old, decomposed, t)
    write(running_mean, kernel.store(new))


def update_running(
    kernel: NormKernel[Any],
    running_mean: Tensor,
    running_var: Tensor | None,
    batch: Statistics,
    momentum: float | Tensor,
) -> None:
    """Move the buffers towards the batch: the mean along the geodesic, the variance linearly (paper, Alg. 1)."""
    update_running_mean(kernel, running_mean, batch.mean, batch.decomposed, momentum)
    if running_var is not None:
        update_average(running_var, batch.variance.detach(), momentum)


def scale_factor(variance: Tensor, scale: Tensor | None, options: Options) -> Tensor | None:
    """s / sqrt(variance + eps), or s alone, shape (..., 1, 1); None for 1."""
    if options.control_variance:
        factor = safe_rsqrt(variance + options.eps)
        return (factor if scale is None else scale * factor)[..., None, None]
    return None if scale is None else scale[..., None, None]


def rebuild(
    kernel: NormKernel[Any],
    deviation: Any,
    variance: Tensor,
    *,
    bias: Tensor | None,
    scale: Tensor | None,
    options: Options,
) -> Tensor:
    """Deviations -> normalised points: scale by s / sqrt(variance + eps), move to the bias, leave the space."""
    factor = scale_factor(variance, scale, options)
    centre = None if bias is None else kernel.anchor(bias)
    return kernel.leave(kernel.rebuild(deviation, factor, centre))


def normalize(
    y: Tensor,
    kernel: NormKernel[Any],
    given: Statistics | None,
    *,
    bias: Tensor | None,
    scale: Tensor | None,
    options: Options,
    on_mean: Callable[[Spectrum], None] | None = None,
) -> tuple[Tensor, Statistics]:
    """Samples in the kernel's space -> normalised points, and the statistics used: ``given``, or the batch's own.

    ``on_mean`` is told the mean's decomposition where the kernel knows it before it is done with the samples.
    """
    if options.control_variance and options.average is plain_average:
        fused = kernel.normalize(
            y,
            mean=None if given is None else given.mean,
            variance=None if given is None else given.variance,
            bias=None if bias is None else kernel.anchor(bias),
            scale=scale,
            eps=options.eps,
            iterations=options.mean_iterations,
            stats_grad=options.stats_grad,
            weight=1.0,
            on_mean=on_mean,
        )
        if fused is not None:
            return kernel.leave(fused.samples), Statistics(fused.mean, fused.variance, fused.decomposed)
    if given is None:
        given, deviation = batch_statistics(y, kernel, options)
    else:
        deviation = kernel.deviation(y, given.mean)
    return rebuild(kernel, deviation, given.variance, bias=bias, scale=scale, options=options), given


@full_precision
def riemannian_batch_norm(
    x: Tensor,
    kernel: NormKernel[Any],
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    channels: int | None = None,
    options: Options | None = None,
) -> Tensor:
    """Normalise a batch of SPD matrices under the metric of ``kernel``.

    Parameters
    ----------
    x : Tensor, shape (N, n, n), or (N, C, n, n)
        Statistics are taken over all leading axes, or per channel with ``channels=C``.
    kernel : NormKernel
    running_mean, running_var : Tensor, shapes (n, n) and () or (C, n, n) and (C,), optional
        Updated in place in training; used in evaluation, where the batch's own statistics serve if they are absent.
    bias : Tensor, shape (n, n) or (C, n, n), optional
        The barycentre of the output; the identity by default.
    scale : Tensor, shape () or (C,), optional
        The standard deviation of the output; 1 by default.
    training : bool
    momentum : float or Tensor
        Weight of the batch in the running statistics.
    channels : int, optional
    options : Options, optional

    Returns
    -------
    Tensor, of the shape of ``x``
        An empty batch comes back as it is and leaves the buffers alone. A single sample in training has
        variance 0 and comes back as the bias.

    Examples
    --------
    >>> from spdnorm.functional import gbw_batch_norm, riemannian_batch_norm
    >>> from spdnorm.functional.kernels import BuresWassersteinKernel
    >>> from spdnorm.geometry import random_spd
    >>> x = random_spd(3, 10)
    >>> out = riemannian_batch_norm(x, BuresWassersteinKernel(), training=True)
    >>> torch.allclose(out, gbw_batch_norm(x, training=True))
    True
    """
    options = options or Options()
    batch = prepare(
        x,
        channels,
        matrices={"running_mean": running_mean, "bias": bias},
        scalars={"running_var": running_var, "scale": scale},
    )
    if is_empty(batch, options.average):
        return x.clone()
    if options.floor is not None:
        batch = clampm(batch, options.floor)
    y = kernel.enter(batch)
    given = None
    if running_mean is not None and not training:
        given = running_statistics(kernel, running_mean, running_var, options)
    moving = running_mean if training else None
    branch, on_mean = Branch(x), None
    if moving is not None and Branch.possible(x):

        def on_mean(found: Spectrum, buffer: Tensor = moving) -> None:
            branch.run(lambda: update_running_mean(kernel, buffer, found.matrix, found, momentum))

    out, statistics = normalize(y, kernel, given, bias=bias, scale=scale, options=options, on_mean=on_mean)
    check_range(out, LEFT_RANGE)
    if moving is not None:
        if not branch.join():
            update_running(kernel, moving, running_var, statistics, momentum)
        elif running_var is not None:
            update_average(running_var, statistics.variance.detach(), momentum)
    return out.reshape(x.shape)
