"""LieBN (Chen et al. 2024): batch normalisation by the translations of a Lie group of SPD matrices."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from spdnorm.functional.batch_norm import Options, riemannian_batch_norm
from spdnorm.functional.kernels import AffineInvariantKernel, ChartedKernel, NormKernel, kernel_for
from spdnorm.geometry import (
    AffineInvariant,
    Average,
    LogCholesky,
    LogEuclidean,
    PowerChart,
    PowerDeformed,
    plain_average,
)
from spdnorm.linalg import check_square, full_precision

LieMetric = Literal["aim", "lem", "lcm"]


def lie_kernel(
    metric: LieMetric,
    *,
    theta: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.0,
    translation: Literal["cholesky", "eigen"] = "cholesky",
) -> NormKernel[Any]:
    """The kernel of (theta, alpha, beta)-AIM, (alpha, beta)-LEM or theta-LCM."""
    kernel: NormKernel[Any]
    if metric == "lem":
        # The power deformation leaves the log-Euclidean metric as it is: log X^theta / theta = log X.
        return kernel_for(LogEuclidean(alpha=alpha, beta=beta))
    if metric == "aim":
        kernel = AffineInvariantKernel(AffineInvariant(alpha=alpha, beta=beta), translation=translation)
        return kernel if theta == 1 else ChartedKernel(kernel, PowerChart(theta), scale=1 / theta**2)
    if metric == "lcm":
        if (alpha, beta) != (1.0, 0.0):
            raise ValueError("metric='lcm' has no (alpha, beta) family: leave alpha=1 and beta=0")
        return kernel_for(LogCholesky() if theta == 1 else PowerDeformed(LogCholesky(), theta))
    raise ValueError(f"`metric` must be 'aim', 'lem' or 'lcm', got {metric!r}")


def check_inner_product(n: int, alpha: float, beta: float) -> None:
    """Raise unless alpha <U, V> + beta tr(U) tr(V) is positive definite on symmetric matrices of size ``n``."""
    if not (alpha > 0 and alpha + n * beta > 0):
        raise ValueError(f"`alpha` and alpha + n beta must be positive, got alpha={alpha}, beta={beta} for n = {n}")


@full_precision
def lie_batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    *,
    metric: LieMetric = "aim",
    theta: float = 1.0,
    alpha: float = 1.0,
    beta: float = 0.0,
    translation: Literal["cholesky", "eigen"] = "cholesky",
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
    """LieBN: centre and bias by left translation, scale the logarithm at the identity.

    Arguments that are not listed are those of :func:`spdnorm.functional.gbw_batch_norm`.

    Parameters
    ----------
    metric : "aim", "lem" or "lcm"
        Left-invariant metric of the group: X o Y = L_X Y L_X^T (Cholesky factors), addition of logarithms, addition
        of log-Cholesky coordinates.
    theta : float
        Power deformation; no effect under LEM.
    alpha, beta : float
        Inner product alpha <U, V> + beta tr(U) tr(V) at the identity (AIM and LEM); it acts on the variance.
    translation : "cholesky" or "eigen"
        Under AIM: the group's own translation, or the isometry by square roots that other methods use. They differ
        by a rotation of each output.

    Examples
    --------
    >>> from spdnorm.functional import lie_batch_norm
    >>> from spdnorm.geometry import LogEuclidean, random_spd
    >>> out = lie_batch_norm(random_spd(3, 50), metric="lem", training=True)
    >>> torch.allclose(LogEuclidean().mean(out), torch.eye(3).double())
    True
    """
    if translation not in ("cholesky", "eigen"):
        raise ValueError(f"`translation` must be 'cholesky' or 'eigen', got {translation!r}")
    check_square(x, "x")
    check_inner_product(x.shape[-1], alpha, beta)
    options = Options(stats_grad=stats_grad, mean_iterations=mean_iterations, eps=eps, floor=floor, average=average)
    return riemannian_batch_norm(
        x,
        lie_kernel(metric, theta=theta, alpha=alpha, beta=beta, translation=translation),
        running_mean,
        running_var,
        bias=bias,
        scale=scale,
        training=training,
        momentum=momentum,
        channels=channels,
        options=options,
    )
