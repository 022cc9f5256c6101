"""A metric carried over by a diffeomorphism: the combinator behind LEM, LCM, power deformation and GBW."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from spdnorm.geometry.average import Average
from spdnorm.geometry.base import Metric
from spdnorm.geometry.mean import MeanResult


class Chart(ABC):
    """A diffeomorphism phi from the SPD matrices, its inverse and both differentials.

    Examples
    --------
    >>> from spdnorm.geometry import PowerChart
    >>> chart = PowerChart(0.5)
    >>> chart.inverse(chart.forward(4 * torch.eye(2)))
    tensor([[4., 0.],
            [0., 4.]])
    """

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """phi(X)."""

    @abstractmethod
    def inverse(self, y: Tensor) -> Tensor:
        """phi^-1(Y)."""

    @abstractmethod
    def push(self, x: Tensor, u: Tensor) -> Tensor:
        """Differential of phi at X applied to U."""

    @abstractmethod
    def pull(self, y: Tensor, v: Tensor) -> Tensor:
        """Differential of phi^-1 at Y applied to V."""


class Pullback(Metric):
    """``scale`` times the metric that makes ``chart`` an isometry onto ``base``.

    Every operator is the base's, between a way in and a way out (the identities of the paper's proof of
    Thm. 3.4, Eqs. (equal_exp) to (equal_wfm)).

    Examples
    --------
    >>> from spdnorm.geometry import Euclidean, LogChart, LogEuclidean, Pullback, random_spd
    >>> x, y = random_spd(3, 2)
    >>> mine = Pullback(Euclidean(), LogChart())
    >>> torch.allclose(mine.distance(x, y), LogEuclidean().distance(x, y))
    True
    """

    def __init__(self, base: Metric, chart: Chart, *, scale: float = 1.0) -> None:
        self.base = base
        self.chart = chart
        self.scale = scale

    def _inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        push = self.chart.push
        return self.scale * self.base._inner(self.chart.forward(x), push(x, u), push(x, v))

    def _exp(self, x: Tensor, u: Tensor) -> Tensor:
        return self.chart.inverse(self.base._exp(self.chart.forward(x), self.chart.push(x, u)))

    def _log(self, x: Tensor, y: Tensor) -> Tensor:
        at = self.chart.forward(x)
        return self.chart.pull(at, self.base._log(at, self.chart.forward(y)))

    def _transport(self, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
        start, end = self.chart.forward(x), self.chart.forward(y)
        return self.chart.pull(end, self.base._transport(start, end, self.chart.push(x, u)))

    def _squared_distance(self, x: Tensor, y: Tensor) -> Tensor:
        return self.scale * self.base._squared_distance(self.chart.forward(x), self.chart.forward(y))

    def _geodesic(self, x: Tensor, y: Tensor, t: Tensor) -> Tensor:
        return self.chart.inverse(self.base._geodesic(self.chart.forward(x), self.chart.forward(y), t))

    def _in_domain(self, x: Tensor, u: Tensor) -> Tensor:
        return self.base._in_domain(self.chart.forward(x), self.chart.push(x, u))

    def _mean(
        self,
        xs: Tensor,
        average: Average,
        iterations: int | None,
        tolerance: float | None = None,
        max_iterations: int = 500,
    ) -> MeanResult:
        result = self.base._mean(self.chart.forward(xs), average, iterations, tolerance, max_iterations)
        return result._replace(mean=self.chart.inverse(result.mean))
