"""The library's metrics as law suites; the test modules beside this one collect them."""

from __future__ import annotations

from typing import ClassVar

import pytest
import torch
from torch import Tensor

from spdnorm.geometry import (
    AffineInvariant,
    BuresWasserstein,
    GeneralizedBuresWasserstein,
    LogCholesky,
    LogEuclidean,
    Metric,
    PowerDeformed,
)
from spdnorm.testing import MetricLaws, spd_matrices


class AffineInvariantLaws(MetricLaws):
    invariances = ("orthogonal", "scaling", "inversion", "congruence")
    alpha_beta: ClassVar[tuple[float, float]] = (1.0, 0.0)

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        alpha, beta = self.alpha_beta
        return AffineInvariant(alpha=alpha, beta=beta)


class LogEuclideanLaws(MetricLaws):
    invariances = ("orthogonal", "scaling", "inversion")
    mean_iterates = False
    alpha_beta: ClassVar[tuple[float, float]] = (1.0, 0.0)

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        alpha, beta = self.alpha_beta
        return LogEuclidean(alpha=alpha, beta=beta)


class LogCholeskyLaws(MetricLaws):
    mean_iterates = False

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return LogCholesky()


class BuresWassersteinLaws(MetricLaws):
    invariances = ("orthogonal",)
    # The transport is integrated, in 32 steps here, in fewer where it is differentiated and traced.
    transport_tolerance = 1e-8

    def base(self, steps: int) -> BuresWasserstein:
        return BuresWasserstein(transport_steps=steps)

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return self.base(32)

    def make_small_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return self.base(8)

    def make_traced_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return self.base(1)


class GeneralizedLaws(BuresWassersteinLaws):
    invariances = ()
    face_is_smaller_metric = False

    def matrix(self, n: int, dtype: torch.dtype) -> Tensor:
        return spd_matrices(n, condition=10.0, seed=77, dtype=dtype)

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return GeneralizedBuresWasserstein(self.matrix(n, dtype), base=self.base(32))

    def make_small_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return GeneralizedBuresWasserstein(self.matrix(n, dtype), base=self.base(8))

    def make_traced_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return GeneralizedBuresWasserstein(self.matrix(n, dtype), base=self.base(1))


class Deformed(MetricLaws):
    """Mixed in before the suite of a base metric: its power deformation."""

    theta: ClassVar[float]
    tolerance = 1e-10
    transport_tolerance = 1e-7

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return PowerDeformed(super().make_metric(n, dtype), self.theta)

    def make_small_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return PowerDeformed(super().make_small_metric(n, dtype), self.theta)

    def make_traced_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        return PowerDeformed(super().make_traced_metric(n, dtype), self.theta)

    @pytest.mark.slow
    def test_compile(self) -> None:
        super().test_compile()
