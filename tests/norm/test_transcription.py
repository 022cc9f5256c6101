"""GBWBN against the literal transcription of Alg. 1, in and out of the domain where nothing folds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.norm import transcription

from spdnorm.functional import gbw_batch_norm
from spdnorm.functional.kernels import bures_wasserstein
from spdnorm.geometry import random_spd

THETAS = (1.0, 0.75, 0.5, 0.25, -0.5)


def _case(n, batch, condition, seed):
    generator = torch.Generator().manual_seed(seed)
    x = random_spd(n, batch, condition=condition, generator=generator)
    m, g, mean = (random_spd(n, condition=5, generator=generator) for _ in range(3))
    return x, m, g, mean


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize(("condition", "scale", "seed"), [(1.5, 0.05, 0), (30.0, 0.7, 1), (200.0, -1.6, 2)])
def test_agrees_with_the_algorithm(theta, training, condition, scale, seed):
    x, m, g, mean = _case(5, 9, condition, seed)
    running_mean, running_var = mean.clone(), torch.tensor(1.3, dtype=torch.float64)
    arguments = {"theta": theta, "training": training, "momentum": 0.3, "eps": 1e-5}
    expected, expected_mean, expected_var = transcription.gbwbn(
        x.numpy(), mean.numpy(), 1.3, m=m.numpy(), g=g.numpy(), s=scale, iterations=1, **arguments
    )
    out = gbw_batch_norm(
        x, running_mean, running_var, metric=m, bias=g, scale=torch.tensor(scale, dtype=torch.float64), **arguments
    )
    assert np.abs(out.numpy() - expected).max() <= 1e-9 * np.abs(expected).max()
    assert np.abs(running_mean.numpy() - expected_mean).max() <= 1e-9 * np.abs(expected_mean).max()
    assert abs(running_var.item() - expected_var) <= 1e-9 * expected_var


@pytest.mark.parametrize("iterations", [2, 5])
def test_more_barycentre_steps(iterations):
    x, m, g, mean = _case(4, 7, 20.0, 3)
    arguments = {"theta": 1.0, "training": True, "momentum": 0.1, "eps": 1e-5}
    expected, *_ = transcription.gbwbn(
        x.numpy(), mean.numpy(), 1.0, m=m.numpy(), g=g.numpy(), s=1.0, iterations=iterations, **arguments
    )
    out = gbw_batch_norm(
        x, mean, torch.ones((), dtype=torch.float64), metric=m, bias=g, mean_iterations=iterations, **arguments
    )
    assert np.abs(out.numpy() - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize(("condition", "scale", "folds"), [(1.5, 0.05, False), (200.0, 1.6, True)])
def test_the_cases_lie_on_both_sides_of_the_fold(condition, scale, folds, monkeypatch):
    """The comparison above means what it says only if folding happens in one of its cases and not in another."""
    folded = []
    original = bures_wasserstein.fold

    def watched(w):
        folded.append(bool((torch.linalg.eigvalsh(w) < 0).any()))
        return original(w)

    monkeypatch.setattr(bures_wasserstein, "fold", watched)
    x, m, g, _ = _case(5, 9, condition, 0 if not folds else 2)
    gbw_batch_norm(x, metric=m, bias=g, scale=torch.tensor(scale, dtype=torch.float64), training=True)
    assert any(folded) is folds
