"""SPDBN and SPDMBN: batch normalisation under the affine-invariant metric (Brooks et al. 2019; Kobler et al. 2022)."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.functional.batch_norm import (
    Options,
    Statistics,
    batch_statistics,
    rebuild,
    riemannian_batch_norm,
    running_statistics,
    update_running,
)
from spdnorm.functional.kernels import AffineInvariantKernel
from spdnorm.functional.layout import prepare
from spdnorm.geometry import Average, plain_average
from spdnorm.linalg import clampm, full_precision
from spdnorm.stats import is_empty, write


@full_precision
def spd_batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    mean_iterations: int | None = 1,
    channels: int | None = None,
    stats_grad: bool = True,
    floor: float | None = None,
    average: Average = plain_average,
) -> Tensor:
    """SPDBN (Brooks et al. 2019): G^1/2 B^-1/2 X B^-1/2 G^1/2; the mean alone is controlled.

    B is the affine-invariant barycentre after ``mean_iterations`` steps of the Karcher flow. Other arguments as in
    :func:`spdnorm.functional.gbw_batch_norm`; the input must be positive definite (see ``floor``).

    Examples
    --------
    >>> from spdnorm.functional import spd_batch_norm
    >>> from spdnorm.geometry import AffineInvariant, random_spd
    >>> out = spd_batch_norm(random_spd(3, 50), training=True, mean_iterations=None)
    >>> torch.allclose(AffineInvariant().mean(out), torch.eye(3).double())
    True
    """
    options = Options(
        control_variance=False,
        stats_grad=stats_grad,
        mean_iterations=mean_iterations,
        floor=floor,
        average=average,
    )
    return riemannian_batch_norm(
        x,
        AffineInvariantKernel(),
        running_mean,
        bias=bias,
        training=training,
        momentum=momentum,
        channels=channels,
        options=options,
    )


@full_precision
def spd_momentum_batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    training_mean: Tensor | None = None,
    training_var: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    training_momentum: float | Tensor = 1.0,
    eps: float = 1e-5,
    mean_iterations: int | None = 1,
    channels: int | None = None,
    stats_grad: bool = True,
    floor: float | None = None,
    average: Average = plain_average,
) -> Tensor:
    """SPDMBN (Kobler et al. 2022): mean and variance under AIM, with two sets of running statistics.

    In training the data are normalised by ``training_mean`` and ``training_var``, moved towards the batch by
    ``training_momentum`` (1 gives plain batch statistics); ``running_mean`` and ``running_var`` follow with
    ``momentum`` and serve in evaluation. Gradients flow through the share that the batch has in the
    statistics. The batch's variance is measured about the batch's own barycentre: the publication's text
    leaves open whether the moved one is meant, and this is the Frechet variance that it speaks of.

    All four buffers are updated in place; the other arguments are those of
    :func:`spdnorm.functional.gbw_batch_norm`.

    Examples
    --------
    >>> from spdnorm.functional import spd_momentum_batch_norm
    >>> from spdnorm.geometry import AffineInvariant, random_spd
    >>> out = spd_momentum_batch_norm(random_spd(3, 50), training=True, mean_iterations=None)
    >>> round(float(AffineInvariant().variance(out, torch.eye(3).double())), 3)
    1.0
    """
    kernel = AffineInvariantKernel()
    options = Options(stats_grad=stats_grad, mean_iterations=mean_iterations, eps=eps, floor=floor, average=average)
    if not training or training_mean is None or training_var is None:
        return riemannian_batch_norm(
            x,
            kernel,
            running_mean,
            running_var,
            bias=bias,
            scale=scale,
            training=training,
            momentum=momentum,
            channels=channels,
            options=options,
        )
    batch = prepare(
        x,
        channels,
        matrices={"running_mean": running_mean, "training_mean": training_mean, "bias": bias},
        scalars={"running_var": running_var, "training_var": training_var, "scale": scale},
    )
    if is_empty(batch, average):
        return x.clone()
    if floor is not None:
        batch = clampm(batch, floor)
    of_batch, _ = batch_statistics(batch, kernel, options)
    old = running_statistics(kernel, training_mean, training_var, options)
    t = torch.as_tensor(training_momentum, dtype=batch.dtype, device=batch.device)
    moved = Statistics(
        kernel.interpolate(old.mean, of_batch.mean, t),
        (1 - t) * old.variance + t * of_batch.variance,
    )
    write(training_mean, moved.mean)
    write(training_var, moved.variance)
    if running_mean is not None:
        update_running(kernel, running_mean, running_var, of_batch, momentum)
    deviation = kernel.deviation(batch, moved.mean)
    return rebuild(kernel, deviation, moved.variance, bias=bias, scale=scale, options=options).reshape(x.shape)
