"""The generalised Bures-Wasserstein metric (Han et al. 2023; paper, Eq. (metric_gbwm))."""

from __future__ import annotations

from torch import Tensor

from spdnorm.geometry.bures_wasserstein import BuresWasserstein
from spdnorm.geometry.pullback import Chart, Pullback
from spdnorm.linalg import INV_SQRT, SQRT, check_alike, check_symmetric, congruence, spectrum


class CongruenceChart(Chart):
    """phi(X) = M^-1/2 X M^-1/2; linear, hence its own differential.

    Parameters
    ----------
    m : Tensor, shape (..., n, n)
        SPD; its square roots are taken once.

    Examples
    --------
    >>> from spdnorm.geometry import CongruenceChart
    >>> CongruenceChart(4 * torch.eye(2)).forward(torch.eye(2))
    tensor([[0.2500, 0.0000],
            [0.0000, 0.2500]])
    """

    def __init__(self, m: Tensor) -> None:
        decomposed = spectrum(m)
        decomposed.check(INV_SQRT, "metric_matrix")
        self.root, self.inverse_root = decomposed.apply(SQRT), decomposed.apply(INV_SQRT)

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return congruence(self.inverse_root, x)

    def inverse(self, y: Tensor) -> Tensor:  # noqa: D102
        return congruence(self.root, y)

    def push(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return congruence(self.inverse_root, u)

    def pull(self, y: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return congruence(self.root, v)


class GeneralizedBuresWasserstein(Pullback):
    """g_X(U, V) = tr(L_{X,M}(U) V) / 2 with X L M + M L X = U.

    Isometric to the Bures-Wasserstein metric by X -> M^-1/2 X M^-1/2 (Han et al. 2021). M = I is that metric; at
    X = M it is a quarter of the affine-invariant one.

    Parameters
    ----------
    metric_matrix : Tensor, shape (n, n), or (..., n, n) to broadcast against the points
    base : BuresWasserstein, optional
        To choose how it transports.

    Examples
    --------
    >>> from spdnorm.geometry import GeneralizedBuresWasserstein
    >>> m = torch.diag(torch.tensor([1.0, 4.0]))
    >>> metric = GeneralizedBuresWasserstein(m)
    >>> metric.inner(m, torch.eye(2), torch.eye(2))  # at X = M: a quarter of the affine-invariant 1 + 1/16
    tensor(0.2656)
    """

    allows_singular = True
    base: BuresWasserstein
    chart: CongruenceChart

    def __init__(self, metric_matrix: Tensor, *, base: BuresWasserstein | None = None) -> None:
        check_symmetric(metric_matrix, "metric_matrix")
        self.metric_matrix = metric_matrix
        super().__init__(base or BuresWasserstein(), CongruenceChart(metric_matrix))

    def _check(self, **named: Tensor) -> None:
        super()._check(**named)
        check_alike(**named, metric_matrix=self.metric_matrix)

    def __repr__(self) -> str:
        return f"GeneralizedBuresWasserstein(metric_matrix of shape {tuple(self.metric_matrix.shape)})"
