"""The power deformation with an exponent that is learned."""

from __future__ import annotations

from torch import Tensor

from spdnorm.geometry import Chart
from spdnorm.linalg import EXP, LOG, Spectrum, spectrum


class LearnablePowerChart(Chart):
    """phi(X) = X^theta = exp(theta log X) with a tensor theta (), differentiable in it; X positive definite."""

    def __init__(self, theta: Tensor) -> None:
        self.theta = theta

    def _logarithm(self, x: Tensor) -> Spectrum:
        decomposed = spectrum(x)
        decomposed.check(LOG, "x")
        return decomposed.map(LOG)

    def forward(self, x: Tensor) -> Tensor:  # noqa: D102
        return self._logarithm(x).scaled(self.theta).apply(EXP)

    def inverse(self, y: Tensor) -> Tensor:  # noqa: D102
        return self._logarithm(y).scaled(1 / self.theta).apply(EXP)

    def push(self, x: Tensor, u: Tensor) -> Tensor:  # noqa: D102
        logarithm = self._logarithm(x)
        return logarithm.scaled(self.theta).derivative(EXP, self.theta * spectrum(x).derivative(LOG, u))

    def pull(self, y: Tensor, v: Tensor) -> Tensor:  # noqa: D102
        logarithm = self._logarithm(y)
        return logarithm.scaled(1 / self.theta).derivative(EXP, spectrum(y).derivative(LOG, v) / self.theta)
