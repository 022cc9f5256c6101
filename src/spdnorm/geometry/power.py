"""Deformation of a metric by the matrix power (Thanwerdas and Pennec 2022; paper, Eq. (pow-metric))."""

from __future__ import annotations

from torch import Tensor

from spdnorm.geometry.base import Metric
from spdnorm.geometry.pullback import Chart, Pullback
from spdnorm.linalg import Power, derivative, matrix_function


class PowerChart(Chart):
    """phi(X) = X^theta.

    Examples
    --------
    >>> from spdnorm.geometry import PowerChart
    >>> PowerChart(0.5).forward(9 * torch.eye(2))
    tensor([[3., 0.],
            [0., 3.]])
    """

    def __init__(self, theta: float) -> None:
        if theta == 0 or theta != theta or abs(theta) == float("inf"):
            raise ValueError(
                f"`theta` must be finite and not 0, got {theta}: the limit theta -> 0 is log-Euclidean, "
                "use LogEuclidean()"
            )
        self.theta = float(theta)
        self._in, self._out = Power(self.theta), Power(1.0 / self.theta)

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return matrix_function(x, self._in)

    def inverse(self, y: Tensor) -> Tensor:  # noqa: D102
        return matrix_function(y, self._out)

    def push(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        return derivative(x, self._in, u)

    def pull(self, y: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        return derivative(y, self._out, v)


class PowerDeformed(Pullback):
    """(theta)-deformation: g_X(U, V) = (1 / theta^2) base_{X^theta}(D U, D V), D the differential of the power at X.

    theta = 1 is the base itself. As theta -> 0 the metric tends to the base's inner product at the identity, of
    the differentials of log (paper, Prop. 3.2): the log-Euclidean metric for AIM, a quarter of it for BW,
    and for the generalised BW metric the variant <L_M(log_* U), log_* V> / 2. The distance to the limit is of the
    order of theta; rounding grows as epsilon / theta, so that below 1e-8 (float64) the limit is the better number.

    Parameters
    ----------
    base : Metric
    theta : float
        Any number but 0.

    Examples
    --------
    >>> from spdnorm.geometry import BuresWasserstein, LogEuclidean, PowerDeformed, random_spd
    >>> x, y = random_spd(3, 2)
    >>> near_zero = 4 * PowerDeformed(BuresWasserstein(), 1e-4).squared_distance(x, y)
    >>> torch.allclose(near_zero, LogEuclidean().squared_distance(x, y), rtol=1e-3)
    True
    """

    def __init__(self, base: Metric, theta: float) -> None:
        super().__init__(base, PowerChart(theta), scale=1.0 / theta**2 if theta else 1.0)
        self.theta = float(theta)
        self.allows_singular = base.allows_singular and theta > 0

    def __repr__(self) -> str:
        return f"PowerDeformed({self.base!r}, theta={self.theta:g})"
