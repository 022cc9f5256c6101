"""The log-Euclidean metric (Arsigny et al. 2007)."""

from __future__ import annotations

from torch import Tensor

from spdnorm.geometry.euclidean import Euclidean
from spdnorm.geometry.pullback import Chart, Pullback
from spdnorm.linalg import EXP, LOG, derivative, matrix_function, symmetrize


class LogChart(Chart):
    """phi(X) = log X onto the symmetric matrices.

    Examples
    --------
    >>> from spdnorm.geometry import LogChart
    >>> LogChart().forward(torch.eye(2))
    tensor([[0., 0.],
            [0., 0.]])
    """

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return matrix_function(x, LOG)

    def inverse(self, y: Tensor) -> Tensor:  # noqa: D102
        # Logarithms that cancel leave rounding errors, which need not be symmetric.
        return matrix_function(symmetrize(y), EXP)

    def push(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return derivative(x, LOG, u)

    def pull(self, y: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return derivative(y, EXP, v)


class LogEuclidean(Pullback):
    """g_X(U, V) = alpha <log_* U, log_* V> + beta tr(log_* U) tr(log_* V), log_* the differential of log at X.

    Parameters
    ----------
    alpha, beta : float
        The O(n)-invariant inner product on the logarithms; positive for alpha > 0 and alpha + n beta > 0.

    Examples
    --------
    >>> from spdnorm.geometry import LogEuclidean
    >>> LogEuclidean().mean(torch.stack([torch.eye(2), 9 * torch.eye(2)]))  # exp of the mean of logarithms
    tensor([[3., 0.],
            [0., 3.]])
    """

    base: Euclidean

    def __init__(self, *, alpha: float = 1.0, beta: float = 0.0) -> None:
        super().__init__(Euclidean(alpha=alpha, beta=beta), LogChart())

    def __repr__(self) -> str:
        return f"LogEuclidean(alpha={self.base.alpha:g}, beta={self.base.beta:g})"
