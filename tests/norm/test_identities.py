"""What one method is known to become in a limit, and what independent implementations say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers import spd_matrices
from torch import nn

from spdnorm.functional import gbw_batch_norm, lie_batch_norm
from spdnorm.geometry import AffineInvariant, BuresWasserstein, random_spd
from spdnorm.linalg import expm, logm, vec
from spdnorm.nn import GBWBatchNorm, LieBatchNorm, SPDBatchNorm, SPDMomentumBatchNorm
from spdnorm.nn.constraints import assign


def test_identity_metric_is_bwbn():
    x = spd_matrices(5, 10, condition=20.0)
    with_metric = gbw_batch_norm(x, metric=torch.eye(5, dtype=torch.float64), training=True)
    torch.testing.assert_close(with_metric, gbw_batch_norm(x, training=True), rtol=1e-11, atol=1e-11)


def test_theta_to_zero_is_log_euclidean():
    x = spd_matrices(4, 12, condition=4.0)
    g = spd_matrices(4, condition=2.0, seed=3)
    s = torch.tensor(0.4, dtype=torch.float64)
    lem = lie_batch_norm(x, metric="lem", bias=g, scale=s, training=True, eps=0.0)
    errors = []
    for theta in (0.1, 0.01, 0.001):
        # Near I, X^theta = I + theta log X, and d_BW is half the Frobenius distance: s / nu is the same only if the
        # scale is halved with the distances.
        out = gbw_batch_norm(x, theta=theta, bias=g, scale=s / 2, training=True, eps=0.0, mean_iterations=None)
        errors.append(float((out - lem).abs().max() / lem.abs().max()))
    assert errors[0] < 0.2
    assert errors[1] < errors[0] / 5
    assert errors[2] < errors[1] / 5


def test_lem_liebn_is_euclidean_batch_norm_of_logarithms():
    x = spd_matrices(4, 16, condition=10.0)
    layer = LieBatchNorm(4, metric="lem", affine=False, eps=0.0, dtype=torch.float64)
    logs = vec(logm(x))
    centred = logs - logs.mean(0)
    expected = centred / centred.square().sum(-1).mean().sqrt()
    torch.testing.assert_close(vec(logm(layer(x))), expected, rtol=1e-9, atol=1e-9)


def test_one_by_one_matrices_are_euclidean_batch_norm_of_logarithms():
    """n = 1: AIM, LEM and LCM all see the positive numbers through their logarithm (LCM through half of it)."""
    x = torch.linspace(0.3, 4.0, 9, dtype=torch.float64)[:, None, None]
    reference = nn.BatchNorm1d(1, affine=False, eps=1e-14, dtype=torch.float64)
    expected = reference(torch.log(x[:, 0])).squeeze(-1)
    for metric, unit in (("aim", 1.0), ("lem", 1.0), ("lcm", 2.0)):
        layer = LieBatchNorm(1, metric=metric, affine=False, eps=0.0, mean_iterations=None, dtype=torch.float64)
        torch.testing.assert_close(torch.log(layer(x)).flatten(), unit * expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("training", [True, False])
def test_spdbn_agrees_with_spd_learn(training):
    peer_module = pytest.importorskip("spd_learn.modules")
    x = spd_matrices(5, 14, condition=10.0)
    bias = spd_matrices(5, condition=3.0, seed=4)
    peer = peer_module.SPDBatchNormMean(num_features=5, momentum=0.1, n_iter=1).double()
    ours = SPDBatchNorm(5, momentum=0.1, dtype=torch.float64)
    peer.bias = bias.unsqueeze(0)
    assign(ours, "bias", bias)
    for module in (peer, ours):
        module.train()
        module(x)
        module.train(training)
    y = spd_matrices(5, 9, condition=10.0, seed=1)
    torch.testing.assert_close(ours(y), peer(y.unsqueeze(1)).squeeze(1), rtol=1e-8, atol=1e-8)


def test_spd_momentum_agrees_with_spd_learn_at_momentum_one():
    """Its mean and variance layer uses batch statistics in training, which is our schedule held at 1."""
    peer_module = pytest.importorskip("spd_learn.modules")
    x = spd_matrices(5, 14, condition=10.0)
    peer = peer_module.SPDBatchNormMeanVar(num_features=5, momentum=0.1, n_iter=1, eps=1e-5).double()
    ours = SPDMomentumBatchNorm(5, momentum=0.1, min_momentum=1.0, dtype=torch.float64)
    torch.testing.assert_close(ours(x), peer(x.unsqueeze(1)).squeeze(1), rtol=1e-7, atol=1e-7)
    ours.eval()
    peer.eval()
    torch.testing.assert_close(ours(x), peer(x.unsqueeze(1)).squeeze(1), rtol=1e-7, atol=1e-7)


def test_gradient_at_multiples_of_the_identity():
    """At equal eigenvalues (here: multiples of the identity) the derivative exists, and is the numeric one."""
    x = torch.eye(4, dtype=torch.float64).repeat(3, 1, 1) * torch.tensor([1.0, 2.0, 3.0]).double()[:, None, None]
    x.requires_grad_()
    direction = torch.randn(3, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    direction = direction + direction.mT
    layer = SPDBatchNorm(4, dtype=torch.float64)
    (grad,) = torch.autograd.grad((layer(x) * direction).sum(), x)
    h = 1e-6
    with torch.no_grad():
        step = torch.randn(3, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        step = step + step.mT
        numeric = ((layer(x + h * step) - layer(x - h * step)) / (2 * h) * direction).sum()
    torch.testing.assert_close((grad * step).sum(), numeric, rtol=1e-6, atol=1e-6)


def test_running_mean_follows_the_geodesic():
    x = spd_matrices(4, 12, condition=10.0)
    layer = GBWBatchNorm(4, momentum=0.25, dtype=torch.float64, learn_metric=False)
    layer(x)
    metric = BuresWasserstein()
    expected = metric.geodesic(torch.eye(4, dtype=torch.float64), metric.mean(x, iterations=1), 0.25)
    torch.testing.assert_close(layer.running_mean, expected, rtol=1e-10, atol=1e-10)


def test_momentum_schedule_of_spdmbn():
    x = [spd_matrices(3, 8, condition=5.0, seed=s) for s in range(3)]
    layer = SPDMomentumBatchNorm(3, min_momentum=0.2, schedule_steps=3, affine=False, dtype=torch.float64)
    metric = AffineInvariant()
    mean = torch.eye(3, dtype=torch.float64)
    for k, batch in enumerate(x, start=1):
        layer(batch)
        gamma = 1 - 0.2 ** ((3 - k) / 2) + 0.2
        mean = metric.geodesic(mean, metric.mean(batch, iterations=1), gamma)
        torch.testing.assert_close(layer.training_mean, mean, rtol=1e-6, atol=1e-6)


def test_liebn_translations_differ_by_a_rotation():
    x, g = random_spd(5, 10, condition=8.0), random_spd(5, condition=3.0)
    spectra = []
    for translation in ("cholesky", "eigen"):
        out = lie_batch_norm(x, metric="aim", translation=translation, training=True)
        spectra.append(torch.linalg.eigvalsh(out))
        biased = lie_batch_norm(x, metric="aim", translation=translation, bias=g, training=True, mean_iterations=None)
        torch.testing.assert_close(AffineInvariant().mean(biased), g, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(*spectra, rtol=1e-9, atol=1e-9)


def test_ill_conditioned_input_comes_out_well_conditioned():
    """The paper's Fig. (ill-condition): matrices near the boundary move into the cone."""
    x = spd_matrices(6, 64, condition=1e8)
    out = GBWBatchNorm(6, dtype=torch.float64)(x)
    before, after = (torch.linalg.cond(m.detach()) for m in (x, out))
    assert before.min() > 1e7
    assert after.median() < 1e4


def test_exp_parametrization_is_assignable():
    layer = GBWBatchNorm(3, dtype=torch.float64)
    target = spd_matrices(3, condition=50.0)
    layer.bias = target
    torch.testing.assert_close(layer.bias, target, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(expm(logm(target)), target, rtol=1e-10, atol=1e-10)
    assert np.isfinite(layer.bias.detach().numpy()).all()
