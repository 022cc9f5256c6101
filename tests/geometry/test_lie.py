"""Translations: isometries of their metric that move the identity to a point and back."""

from __future__ import annotations

from typing import Literal

import pytest
import torch

from spdnorm.geometry import (
    AffineInvariant,
    BuresWasserstein,
    LogCholesky,
    LogEuclidean,
    Metric,
    PowerDeformed,
    translation,
)
from spdnorm.linalg import cholesky, expm, logm, sqrtm
from spdnorm.testing import assert_relative, spd_matrices

CASES: dict[str, tuple[Metric, Literal["cholesky", "eigen"]]] = {
    "aim cholesky": (AffineInvariant(), "cholesky"),
    "aim eigen": (AffineInvariant(alpha=2.0, beta=0.3), "eigen"),
    "lem": (LogEuclidean(), "cholesky"),
    "lcm": (LogCholesky(), "cholesky"),
    "aim theta=0.5": (PowerDeformed(AffineInvariant(), 0.5), "cholesky"),
    "aim theta=-1": (PowerDeformed(AffineInvariant(), -1.0), "eigen"),
    "lcm theta=1.5": (PowerDeformed(LogCholesky(), 1.5), "cholesky"),
}


@pytest.mark.parametrize("name", CASES)
def test_isometry_from_the_identity(name: str) -> None:
    metric, kind = CASES[name]
    by = translation(metric, kind=kind)
    a, x, y = spd_matrices(4, 3, condition=10.0)
    eye = torch.eye(4, dtype=a.dtype)
    assert_relative(by.move(a, eye), a, 1e-12, "the identity moves to a")
    assert_relative(by.unmove(a, a), eye, 1e-12, "a moves to the identity")
    assert_relative(by.unmove(a, by.move(a, x)), x, 1e-12, "there and back")
    moved = metric.distance(by.move(a, x), by.move(a, y))
    assert_relative(moved, metric.distance(x, y), 1e-11, "distance of moved points")
    samples = spd_matrices(4, 5, condition=10.0, seed=1)
    assert_relative(metric.mean(by.move(a, samples)), by.move(a, metric.mean(samples)), 1e-10, "mean of moved samples")


def test_formulas() -> None:
    """Of Lin (2019), Arsigny et al. (2007) and Brooks et al. (2019)."""
    a, x = spd_matrices(4, 2, condition=10.0)
    root, factor = sqrtm(a), cholesky(a)
    moved = {name: translation(metric, kind=kind).move(a, x) for name, (metric, kind) in CASES.items()}
    assert_relative(moved["aim cholesky"], factor @ x @ factor.mT, 1e-13, "aim, Cholesky")
    assert_relative(moved["aim eigen"], root @ x @ root, 1e-13, "aim, square roots")
    assert_relative(moved["lem"], expm(logm(a) + logm(x)), 1e-13, "lem")
    l, k = cholesky(a), cholesky(x)  # noqa: E741
    product = l.tril(-1) + k.tril(-1) + torch.diag(l.diagonal() * k.diagonal())
    assert_relative(moved["lcm"], product @ product.mT, 1e-13, "lcm")


@pytest.mark.parametrize("metric", [BuresWasserstein(), PowerDeformed(BuresWasserstein(), 0.5)])
def test_metrics_without_a_group_are_refused(metric: Metric) -> None:
    with pytest.raises(TypeError, match=r"BuresWasserstein\(\) has no invariant translation: use AffineInvariant"):
        translation(metric)
