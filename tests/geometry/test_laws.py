"""Every metric of the library against the laws, and one that is not of the library."""

from __future__ import annotations

import pytest
import torch
from metric_suites import (
    AffineInvariantLaws,
    BuresWassersteinLaws,
    GeneralizedLaws,
    LogCholeskyLaws,
    LogEuclideanLaws,
)
from torch import Tensor

from spdnorm.geometry import Chart, Euclidean, Metric, Pullback, get, names, register
from spdnorm.linalg import cholesky, cholesky_derivative, square_derivative
from spdnorm.testing import MetricLaws


class TestAffineInvariant(AffineInvariantLaws):
    pass


class TestAffineInvariantAlphaBeta(AffineInvariantLaws):
    alpha_beta = (2.0, 0.3)

    @pytest.mark.slow
    def test_compile(self) -> None:
        super().test_compile()


class TestLogEuclidean(LogEuclideanLaws):
    pass


class TestLogEuclideanAlphaBeta(LogEuclideanLaws):
    alpha_beta = (0.5, -0.05)

    @pytest.mark.slow
    def test_compile(self) -> None:
        super().test_compile()


class TestLogCholesky(LogCholeskyLaws):
    pass


class TestBuresWasserstein(BuresWassersteinLaws):
    pass


class TestGeneralizedBuresWasserstein(GeneralizedLaws):
    pass


class TestRegisteredByThirdParty(MetricLaws):
    """A metric that somebody else wrote in a few lines, reached by name, passes what ours pass."""

    mean_iterates = False

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return get("test_cholesky")


class CholeskyChart(Chart):
    """phi(L L^T) = L: not onto, like the square root, so that geodesics may leave."""

    def forward(self, x: Tensor) -> Tensor:
        return cholesky(x)

    def inverse(self, y: Tensor) -> Tensor:
        return y @ y.mT

    def push(self, x: Tensor, u: Tensor) -> Tensor:
        return cholesky_derivative(cholesky(x), u)

    def pull(self, y: Tensor, v: Tensor) -> Tensor:
        return square_derivative(y, v)


if "test_cholesky" not in names():
    register("test_cholesky", lambda: Pullback(Euclidean(), CholeskyChart()))
