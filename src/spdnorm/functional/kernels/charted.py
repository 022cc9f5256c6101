"""Batch normalisation under a deformed metric: into the base's space, normalise there, and back (paper, Thm. 3.4)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from spdnorm.functional.kernels.base import D, Normalized, NormKernel
from spdnorm.geometry import Average, Chart, PowerChart
from spdnorm.linalg import Spectrum, symmetrize


class ChartedKernel(NormKernel[D]):
    """A kernel seen through a diffeomorphism of the SPD matrices, lengths squared times ``scale``.

    Running means stay in the base's space, as in the paper's Alg. 1, where a learnable chart moves under them.
    """

    def __init__(self, base: NormKernel[D], chart: Chart, *, scale: float | Tensor = 1.0) -> None:
        self.base, self.chart, self.scale = base, chart, scale

    def enter(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.base.enter(self.chart.forward(x))

    def leave(self, y: Tensor) -> Tensor:  # noqa: D102
        return inverse_chart(self.chart, self.base.leave(y))

    def anchor(self, bias: Tensor) -> Tensor:  # noqa: D102
        return self.base.anchor(self.chart.forward(bias))

    def load(self, buffer: Tensor) -> Tensor:  # noqa: D102
        return self.base.load(buffer)

    def store(self, mean: Tensor) -> Tensor:  # noqa: D102
        return self.base.store(mean)

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:  # noqa: D102
        return self.base.mean(y, average, iterations)

    def deviation(self, y: Tensor, mean: Tensor) -> D:  # noqa: D102
        return self.base.deviation(y, mean)

    def squared_norm(self, deviation: D) -> Tensor:  # noqa: D102
        return self.scale * self.base.squared_norm(deviation)

    def rebuild(self, deviation: D, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        return self.base.rebuild(deviation, factor, bias)

    def normalize(self, y: Tensor, *, weight: float | Tensor, **arguments: Any) -> Normalized | None:
        """That of the base, in whose space everything but the lengths is."""
        return self.base.normalize(y, weight=weight * self.scale, **arguments)

    def towards(self, a: Tensor, b: Spectrum, t: Tensor) -> Tensor:  # noqa: D102
        return self.base.towards(a, b, t)

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:  # noqa: D102
        return self.base.interpolate(a, b, t)


def inverse_chart(chart: Chart, y: Tensor) -> Tensor:
    """``chart.inverse``, by plain products where a power deformation's exponent 1 / theta is a whole number."""
    if isinstance(chart, PowerChart):
        exponent = 1.0 / chart.theta
        whole = round(exponent)
        if whole >= 1 and abs(exponent - whole) < 1e-12:
            return symmetrize(y.matrix_power(whole))
    return chart.inverse(y)
