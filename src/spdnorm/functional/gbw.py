"""GBWBN and BWBN: the paper's batch normalisation (Alg. 1, Thm. 3.4)."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from spdnorm.functional.batch_norm import Options, riemannian_batch_norm
from spdnorm.functional.kernels import BuresWassersteinKernel, ChartedKernel, LearnablePowerChart, NormKernel
from spdnorm.functional.layout import check_like
from spdnorm.functional.reference import reference_gbw_batch_norm
from spdnorm.geometry import Average, GeneralizedBuresWasserstein, PowerChart, plain_average
from spdnorm.linalg import check_square, full_precision


def gbw_kernel(
    metric: Tensor | None, theta: float | Tensor, *, roots: tuple[Tensor, Tensor] | None = None
) -> NormKernel[Any]:
    """Kernel of the (theta)-deformed generalised Bures-Wasserstein metric; ``metric=None`` is M = I.

    ``roots`` are M^1/2 and M^-1/2 where they are known, in place of M.
    """
    if roots is None and metric is not None:
        chart = GeneralizedBuresWasserstein(metric).chart
        roots = chart.root, chart.inverse_root
    kernel = BuresWassersteinKernel(roots=roots)
    if isinstance(theta, Tensor):
        return ChartedKernel(kernel, LearnablePowerChart(theta), scale=theta**-2)
    return kernel if theta == 1 else ChartedKernel(kernel, PowerChart(theta), scale=theta**-2)


@full_precision
def gbw_batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    *,
    metric: Tensor | None = None,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    theta: float | Tensor = 1.0,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
    mean_iterations: int | None = 1,
    variant: Literal["paper", "reference"] = "paper",
    channels: int | None = None,
    stats_grad: bool = True,
    floor: float | None = None,
    average: Average = plain_average,
) -> Tensor:
    """Batch normalisation under the power-deformed generalised Bures-Wasserstein metric.

    Parameters
    ----------
    x : Tensor, shape (N, n, n) or (N, C, n, n)
    running_mean, running_var : Tensor, optional
        Barycentre, in the Bures-Wasserstein space M^-1/2 X^theta M^-1/2 as in Alg. 1, and variance; updated in place.
    metric : Tensor, shape (n, n) or (C, n, n), optional
        The metric parameter M; the identity (BWBN) by default.
    bias : Tensor, shape (n, n) or (C, n, n), optional
        G, where the output is centred.
    scale : Tensor, shape () or (C,), optional
        s, the output's standard deviation.
    theta : float or Tensor
        Power of the deformation, not 0; a tensor () is differentiated (the input must then be positive definite).
    training, momentum, eps
        As in :func:`torch.nn.functional.batch_norm`.
    mean_iterations : int or None
        Fixed-point steps of the barycentre from the arithmetic mean; ``None`` iterates to convergence.
    variant : "paper" or "reference"
        The paper's equations, or what its released script computes (:mod:`spdnorm.functional.reference`).
    channels : int, optional
        Statistics per channel of (N, C, n, n).
    stats_grad : bool
        Whether gradients flow through the statistics (always detached in the reference variant).
    floor : float, optional
        Least eigenvalue that the input is raised to; needed by singular input only for theta < 0.
    average : Average
        How samples are averaged; a :class:`spdnorm.stats.SynchronizedAverage` takes in those of other processes.

    Returns
    -------
    Tensor, of the shape of ``x``

    Examples
    --------
    >>> from spdnorm.functional import gbw_batch_norm
    >>> from spdnorm.geometry import BuresWasserstein, random_spd
    >>> x = random_spd(3, 50, condition=4.0)
    >>> out = gbw_batch_norm(x, training=True, mean_iterations=None, scale=torch.tensor(0.1).double())
    >>> torch.allclose(BuresWasserstein().mean(out), torch.eye(3).double(), atol=1e-6)
    True
    """
    if variant == "reference":
        if isinstance(theta, Tensor):
            raise ValueError("`theta` must be a number with variant='reference'")
        return reference_gbw_batch_norm(
            x,
            running_mean,
            running_var,
            metric=metric,
            bias=bias,
            scale=scale,
            theta=theta,
            training=training,
            momentum=momentum,
            eps=eps,
            mean_iterations=mean_iterations,
            channels=channels,
            floor=floor,
            average=average,
        )
    if variant != "paper":
        raise ValueError(f"`variant` must be 'paper' or 'reference', got {variant!r}")
    check_square(x, "x")
    check_like("metric", metric, x, tuple(x.shape[-2:]) if channels is None else (channels, *x.shape[-2:]))
    options = Options(stats_grad=stats_grad, mean_iterations=mean_iterations, eps=eps, floor=floor, average=average)
    return riemannian_batch_norm(
        x,
        gbw_kernel(metric, theta),
        running_mean,
        running_var,
        bias=bias,
        scale=scale,
        training=training,
        momentum=momentum,
        channels=channels,
        options=options,
    )
