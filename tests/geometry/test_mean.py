"""Means: when the iteration stops, what it says about itself, and what it refuses."""

from __future__ import annotations

import warnings

import pytest
import torch

from spdnorm.geometry import AffineInvariant, BuresWasserstein, LogEuclidean, PowerDeformed
from spdnorm.linalg import symmetrize
from spdnorm.testing import spd_matrices


@pytest.mark.parametrize("metric", [BuresWasserstein(), AffineInvariant(), PowerDeformed(BuresWasserstein(), 0.5)])
@pytest.mark.parametrize("condition", [10.0, 1e8])
def test_stops_where_rounding_begins(metric: BuresWasserstein, condition: float) -> None:
    """However badly conditioned, the iteration ends by itself, without a warning, at the mean."""
    xs = spd_matrices(4, 5, condition=condition)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = metric.mean(xs, return_info=True)
    assert 1 < found.iterations < 400
    assert float(found.residual) < 1e-13 * max(10.0, condition**0.5 * 10)
    gradient = metric.norm(found.mean, symmetrize(metric.log(found.mean, xs).mean(-3)))
    assert float(gradient / metric.variance(xs, found.mean).sqrt()) < max(1e-13, 1e-15 * condition)


def test_says_when_it_has_not_converged() -> None:
    xs = spd_matrices(4, 5, condition=1e4)
    with pytest.warns(RuntimeWarning, match=r"not converged in 2 iterations \(residual .*wanted 2\.2e-14\): raise"):
        found = BuresWasserstein().mean(xs, max_iterations=2, return_info=True)
    assert found.iterations == 2
    assert float(found.residual) > 1e-3


def test_tolerance_trades_steps_for_digits() -> None:
    xs = spd_matrices(4, 5, condition=100.0)
    metric = BuresWasserstein()
    counts = [metric.mean(xs, tolerance=t, return_info=True).iterations for t in (1e-2, 1e-6, 1e-10)]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize("metric", [BuresWasserstein(), LogEuclidean()])
def test_refuses_weights_that_are_none(metric: BuresWasserstein) -> None:
    xs = spd_matrices(3, 4)
    for bad, message in (
        ([1.0, 1.0, -0.5, 1.0], "must not be negative or NaN"),
        ([0.0, 0.0, 0.0, 0.0], "sum to zero"),
        ([1.0, float("nan"), 1.0, 1.0], "negative or NaN"),
        ([1.0, 1.0], r"shape \(\.\.\., 4\)"),
    ):
        with pytest.raises(ValueError, match=f"`weights` .*{message}"):
            metric.mean(xs, torch.tensor(bad))
    with pytest.raises(TypeError, match=r"`weights` must be a torch\.Tensor, got list"):
        metric.mean(xs, [1.0, 1.0, 1.0, 1.0])  # type: ignore[arg-type]
