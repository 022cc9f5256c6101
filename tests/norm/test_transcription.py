"""GBWBN against the literal transcription of Alg. 1, in and out of the domain where nothing folds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.norm import transcription
from torch.autograd import gradcheck

from spdnorm.functional import gbw_batch_norm
from spdnorm.geometry import random_spd
from spdnorm.linalg import symmetrize

THETAS = (1.0, 0.75, 0.5, 0.25, -0.5)
# Condition number of the samples, s, seed.
CASES = ((1.5, 0.05, 0), (30.0, 0.7, 1), (200.0, -1.6, 2), (1e3, 8.0, 3))


def _case(n, batch, condition, seed):
    generator = torch.Generator().manual_seed(seed)
    x = random_spd(n, batch, condition=condition, generator=generator)
    m, g, mean = (random_spd(n, condition=5, generator=generator) for _ in range(3))
    return x, m, g, mean


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("theta", THETAS)
@pytest.mark.parametrize(("condition", "scale", "seed"), CASES)
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


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("theta", THETAS)
def test_the_cases_lie_on_both_sides_of_the_fold(theta, training):
    """The comparison above means what it says only if folding happens in one of its cases and not in another."""
    folds = set()
    for condition, scale, seed in CASES:
        x, m, g, mean = (t.numpy() for t in _case(5, 9, condition, seed))
        least = []
        arguments = {"m": m, "g": g, "s": scale, "theta": theta, "training": training}
        transcription.gbwbn(x, mean, 1.3, momentum=0.3, eps=1e-5, iterations=1, least=least, **arguments)
        folds.add(min(least) < 0)
    assert folds == {False, True}


@pytest.mark.parametrize("theta", [1.0, 0.75])
def test_gradients_where_samples_fold(theta):
    """Right through the fold, eager and in the form without a branch that tracing, transforms and GPUs take."""
    x, m, g, mean = _case(3, 4, 200.0, 2)
    least = []
    arrays = {"m": m.numpy(), "g": g.numpy(), "s": 8.0, "theta": theta, "eps": 1e-5, "iterations": 1}
    transcription.gbwbn(x.numpy(), mean.numpy(), 1.0, training=True, momentum=0.1, least=least, **arrays)
    # Both after centring and after scaling, and well inside: at the fold itself there is no derivative.
    assert min(least[::2]) < -0.1
    assert min(least[1::2]) < -0.1
    assert min(abs(e) for e in least) > 1e-3

    def call(x, m, g, s):
        return gbw_batch_norm(symmetrize(x), metric=symmetrize(m), bias=symmetrize(g), scale=s, theta=theta)

    inputs = [t.requires_grad_() for t in (x, m, g, torch.tensor(8.0, dtype=torch.float64))]
    assert gradcheck(call, inputs, atol=1e-5, rtol=1e-4)
    outs = call(*inputs), torch.vmap(call)(*(t.unsqueeze(0) for t in inputs)).squeeze(0)
    gradients = [torch.autograd.grad(out.square().sum(), inputs) for out in outs]
    torch.testing.assert_close(*outs, rtol=1e-9, atol=1e-9)
    for eager, transformed in zip(*gradients, strict=True):
        torch.testing.assert_close(eager, transformed, rtol=1e-9, atol=1e-9)
