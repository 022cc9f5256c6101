"""Every normalisation layer under the laws."""

from __future__ import annotations

import torch

from spdnorm.geometry import (
    AffineInvariant,
    BuresWasserstein,
    GeneralizedBuresWasserstein,
    LogCholesky,
    LogEuclidean,
    PowerDeformed,
)
from spdnorm.nn import BWBatchNorm, GBWBatchNorm, LieBatchNorm, ManifoldNorm, SPDBatchNorm, SPDMomentumBatchNorm
from spdnorm.testing.norm_laws import NormLaws


class TestGBW(NormLaws):
    allows_singular = True
    theta = 1.0
    eigh_evaluation = 1

    def make(self, n, **options):
        return GBWBatchNorm(n, theta=self.theta, **options)

    def metric(self, layer):
        base = BuresWasserstein() if layer.metric is None else GeneralizedBuresWasserstein(layer.metric.detach())
        return base if self.theta == 1 else PowerDeformed(base, self.theta)


class TestGBWHalf(TestGBW):
    theta = 0.5
    eigh_training, eigh_evaluation = 3, 2


class TestGBWQuarter(TestGBWHalf):
    compiles_like_another = True
    theta = 0.25


class TestGBWThreeQuarters(TestGBW):
    compiles_like_another = True
    theta = 0.75
    eigh_training, eigh_evaluation = 4, 3


class TestGBWNegative(TestGBWThreeQuarters):
    compiles_like_another = True
    theta = -0.5
    allows_singular = False


class TestLearnableTheta(TestGBW):
    """Its power is exp(theta log X), so that singular matrices are out and two decompositions come on top."""

    compiles_like_another = True
    theta = 0.5
    allows_singular = False
    eigh_training, eigh_evaluation = 4, 3

    def make(self, n, **options):
        return GBWBatchNorm(n, theta=self.theta, learn_theta=True, **options)


class TestBW(TestGBW):
    compiles_like_another = True

    def make(self, n, **options):
        return BWBatchNorm(n, **options)


class TestSPD(NormLaws):
    controls_variance = False
    eigh_training, eigh_evaluation = 1, 0

    def make(self, n, **options):
        return SPDBatchNorm(n, **options)

    def metric(self, layer):
        return AffineInvariant()


class TestSPDMomentum(NormLaws):
    largest_condition = 1e13
    plain = {"min_momentum": 1.0}  # noqa: RUF012
    eigh_training, eigh_evaluation = 3, 1

    def make(self, n, **options):
        return SPDMomentumBatchNorm(n, **options)

    def metric(self, layer):
        return AffineInvariant()


class TestManifoldAIM(NormLaws):
    largest_condition = 1e13
    eigh_evaluation = 1

    def make(self, n, **options):
        return ManifoldNorm(n, algorithm=2, **options)

    def metric(self, layer):
        return AffineInvariant()


class TestManifoldAIMFirst(TestManifoldAIM):
    compiles_like_another = True
    controls_variance = False

    def make(self, n, **options):
        return ManifoldNorm(n, algorithm=1, **options)


class TestManifoldLEM(NormLaws):
    compiles_like_another = True

    def make(self, n, **options):
        return ManifoldNorm(n, metric="lem", algorithm=2, **options)

    def metric(self, layer):
        return LogEuclidean()


class TestManifoldLEMFirst(TestManifoldLEM):
    compiles_like_another = True
    controls_variance = False

    def make(self, n, **options):
        return ManifoldNorm(n, metric="lem", algorithm=1, **options)


class TestLieAIM(NormLaws):
    largest_condition = 1e13
    compiles_like_another = True
    eigh_evaluation = 1

    def make(self, n, **options):
        return LieBatchNorm(n, **options)

    def metric(self, layer):
        return AffineInvariant()


class TestLieAIMEigen(TestLieAIM):
    compiles_like_another = True

    def make(self, n, **options):
        return LieBatchNorm(n, translation="eigen", **options)


class TestLieAIMAlphaBeta(TestLieAIM):
    compiles_like_another = True

    def make(self, n, **options):
        return LieBatchNorm(n, alpha=0.7, beta=0.2, **options)

    def metric(self, layer):
        return AffineInvariant(alpha=0.7, beta=0.2)


class TestLieAIMPower(NormLaws):
    eigh_training, eigh_evaluation = 3, 2

    def make(self, n, **options):
        return LieBatchNorm(n, theta=0.5, **options)

    def metric(self, layer):
        return PowerDeformed(AffineInvariant(), 0.5)


class TestLieLEM(NormLaws):
    def make(self, n, **options):
        return LieBatchNorm(n, metric="lem", alpha=1.3, beta=0.1, **options)

    def metric(self, layer):
        return LogEuclidean(alpha=1.3, beta=0.1)


class TestLieLCM(NormLaws):
    compiles_like_another = True
    eigh_training, eigh_evaluation = 0, 0

    def make(self, n, **options):
        return LieBatchNorm(n, metric="lcm", **options)

    def metric(self, layer):
        return LogCholesky()


class TestLieLCMPower(NormLaws):
    eigh_training, eigh_evaluation = 1, 1

    def make(self, n, **options):
        return LieBatchNorm(n, metric="lcm", theta=0.5, **options)

    def metric(self, layer):
        return PowerDeformed(LogCholesky(), 0.5)


def test_the_suite_reaches_every_layer():
    """A new layer without a law test is noticed here."""
    from spdnorm.nn import norm_layer, norm_names

    covered = set()
    for suite in NormLaws.__subclasses__() + [s for c in NormLaws.__subclasses__() for s in c.__subclasses__()]:
        covered.add(type(suite().make(2, dtype=torch.float64)).__mro__[0])
    for name in norm_names():
        if name != "none":
            # Parametrized layers are subclasses made on the fly: compare by the class they were made from.
            layer = type(norm_layer(name, 2))
            assert any(layer.__name__ == c.__name__ for c in covered), name
