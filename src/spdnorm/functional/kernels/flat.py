"""Batch normalisation in flat coordinates: Euclidean batch norm of logarithms (LEM) or log-Cholesky factors (LCM)."""

from __future__ import annotations

from torch import Tensor

from spdnorm.functional.kernels.base import NormKernel
from spdnorm.geometry import Average, Euclidean, Pullback


class FlatKernel(NormKernel[Tensor]):
    """A pullback of a Euclidean metric: subtract, scale, add in the chart."""

    def __init__(self, metric: Pullback) -> None:
        if not isinstance(metric.base, Euclidean):
            raise TypeError(f"FlatKernel needs a pullback of a Euclidean metric, got {metric!r}")
        self.chart, self.space = metric.chart, metric.base

    def enter(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.chart.forward(x)

    def leave(self, y: Tensor) -> Tensor:  # noqa: D102
        return self.chart.inverse(y)

    def load(self, buffer: Tensor) -> Tensor:  # noqa: D102
        return self.chart.forward(buffer)

    def store(self, mean: Tensor) -> Tensor:  # noqa: D102
        return self.chart.inverse(mean)

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:  # noqa: D102
        return average(y)

    def deviation(self, y: Tensor, mean: Tensor) -> Tensor:  # noqa: D102
        return y - mean

    def squared_norm(self, deviation: Tensor) -> Tensor:  # noqa: D102
        return self.space._inner(deviation, deviation, deviation)

    def rebuild(self, deviation: Tensor, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        y = deviation if factor is None else factor * deviation
        return y if bias is None else y + bias

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:  # noqa: D102
        return a + t * (b - a)
