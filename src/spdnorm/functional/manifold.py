"""ManifoldNorm (Chakraborty 2020)."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from spdnorm.functional.batch_norm import Options, riemannian_batch_norm
from spdnorm.functional.kernels import AffineInvariantKernel, NormKernel, kernel_for
from spdnorm.geometry import Average, LogEuclidean, plain_average
from spdnorm.linalg import full_precision


def manifold_kernel(metric: Literal["aim", "lem"]) -> NormKernel[Any]:
    """Parallel transport between I and a point: by square roots under AIM, by addition of logarithms under LEM."""
    if metric == "aim":
        return AffineInvariantKernel(translation="eigen")
    if metric == "lem":
        return kernel_for(LogEuclidean())
    raise ValueError(f"`metric` must be 'aim' or 'lem', got {metric!r}")


@full_precision
def manifold_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    *,
    metric: Literal["aim", "lem"] = "aim",
    algorithm: Literal[1, 2] = 1,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
    mean_iterations: int | None = 1,
    channels: int | None = None,
    stats_grad: bool = True,
    floor: float | None = None,
    average: Average = plain_average,
) -> Tensor:
    """ManifoldNorm: Exp_G(k PT_{I -> G} PT_{B -> I} Log_B X) with the barycentre B of the batch.

    Data are centred at I, scaled there and moved on, as Euclidean batch norm does; under AIM the way from B to G
    through I turns tangent vectors by another rotation than the direct one, with the same mean and variance.

    Parameters
    ----------
    metric : "aim" or "lem"
    algorithm : 1 or 2
        1: k = s, the learnable scale alone; the batch's variance is not divided out, as LieBN's comparison has
        it ("controllable variance: no"). 2: k = s / sqrt(variance + eps), the second-order form, and the one to
        hold against the paper's tables, which count mean and variance for this method. The publication gives
        general homogeneous spaces and no SPD instance in formulas; this reading is ours, from how later work
        describes its first two algorithms.

    Examples
    --------
    >>> from spdnorm.functional import manifold_norm
    >>> from spdnorm.geometry import LogEuclidean, random_spd
    >>> out = manifold_norm(random_spd(3, 50), metric="lem", training=True)
    >>> torch.allclose(LogEuclidean().mean(out), torch.eye(3).double())
    True
    """
    if algorithm not in (1, 2):
        raise ValueError(f"`algorithm` must be 1 or 2, got {algorithm!r}")
    options = Options(
        control_variance=algorithm == 2,
        stats_grad=stats_grad,
        mean_iterations=mean_iterations,
        eps=eps,
        floor=floor,
        average=average,
    )
    return riemannian_batch_norm(
        x,
        manifold_kernel(metric),
        running_mean,
        running_var if algorithm == 2 else None,
        bias=bias,
        scale=scale,
        training=training,
        momentum=momentum,
        channels=channels,
        options=options,
    )
