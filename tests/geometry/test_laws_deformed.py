"""The power deformation of every metric against the laws, for positive and negative powers."""

from __future__ import annotations

from metric_suites import (
    AffineInvariantLaws,
    BuresWassersteinLaws,
    Deformed,
    GeneralizedLaws,
    LogCholeskyLaws,
    LogEuclideanLaws,
)


class TestAffineInvariantHalf(Deformed, AffineInvariantLaws):
    theta = 0.5
    invariances = ("orthogonal", "scaling", "inversion")


class TestAffineInvariantMinusHalf(Deformed, AffineInvariantLaws):
    theta = -0.5
    invariances = ("orthogonal", "scaling", "inversion")


class TestLogEuclideanHalf(Deformed, LogEuclideanLaws):
    theta = 0.5


class TestLogEuclideanMinusOne(Deformed, LogEuclideanLaws):
    theta = -1.0


class TestLogCholeskyHalf(Deformed, LogCholeskyLaws):
    theta = 0.5


class TestLogCholeskyMinusOne(Deformed, LogCholeskyLaws):
    theta = -1.0


class TestBuresWassersteinHalf(Deformed, BuresWassersteinLaws):
    theta = 0.5
    face_transport_tolerance = 1e-3
    boundary_tolerance = 1e-2
    face_tolerance = 1e-5


class TestBuresWassersteinQuarter(Deformed, BuresWassersteinLaws):
    theta = 0.25
    boundary_tolerance = 0.1
    face_tolerance = 1e-2


class TestBuresWassersteinThreeHalves(Deformed, BuresWassersteinLaws):
    theta = 1.5


class TestBuresWassersteinMinusOne(Deformed, BuresWassersteinLaws):
    theta = -1.0


class TestGeneralizedHalf(Deformed, GeneralizedLaws):
    theta = 0.5
    boundary_tolerance = 1e-2
    face_tolerance = 1e-5


class TestGeneralizedMinusHalf(Deformed, GeneralizedLaws):
    theta = -0.5
