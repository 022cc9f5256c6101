"""Flat spaces of matrices, the far side of the log-Euclidean and log-Cholesky charts."""

from __future__ import annotations

from torch import Tensor

from spdnorm.geometry.affine_invariant import check_alpha_beta, weigh
from spdnorm.geometry.average import Average
from spdnorm.geometry.base import Metric
from spdnorm.geometry.mean import MeanResult


class Euclidean(Metric):
    """alpha <U, V> + beta tr(U) tr(V) on matrices (symmetric, or lower triangular with beta = 0).

    Examples
    --------
    >>> from spdnorm.geometry import Euclidean
    >>> Euclidean().distance(torch.eye(2), 3 * torch.eye(2)) ** 2
    tensor(8.0000)
    """

    allows_singular = True

    def __init__(self, *, alpha: float = 1.0, beta: float = 0.0) -> None:
        check_alpha_beta(alpha, beta)
        self.alpha, self.beta = float(alpha), float(beta)

    def _inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        return weigh(self.alpha, self.beta, u, v)

    def _exp(self, x: Tensor, u: Tensor) -> Tensor:
        return x + u

    def _log(self, x: Tensor, y: Tensor) -> Tensor:
        return y - x

    def _transport(self, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
        return u + 0 * (x + y)

    def _mean(
        self,
        xs: Tensor,
        average: Average,
        iterations: int | None,
        tolerance: float | None = None,
        max_iterations: int = 500,
    ) -> MeanResult:
        mean = average(xs)
        return MeanResult(mean, 0, mean.new_zeros(mean.shape[:-2]))
