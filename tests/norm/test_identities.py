"""What one method is known to become in a limit, and what independent implementations say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers import spd_matrices
from torch import nn

from spdnorm.functional import gbw_batch_norm, lie_batch_norm
from spdnorm.functional.kernels import BuresWassersteinKernel
from spdnorm.geometry import AffineInvariant, BuresWasserstein, random_spd
from spdnorm.linalg import expm, logm, spectrum, symmetrize, vec
from spdnorm.nn import GBWBatchNorm, LieBatchNorm, ManifoldNorm, SPDBatchNorm, SPDMomentumBatchNorm, norm_layer
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


PEERS = [
    ("SPDBatchNormMean", {}, "spd", {}),
    ("SPDBatchNormLie", {"metric": "AIM", "eps": 1e-5}, "lie", {}),
    ("SPDBatchNormLie", {"metric": "LEM", "eps": 1e-5}, "lie", {"metric": "lem"}),
    ("SPDBatchNormLie", {"metric": "LCM", "eps": 1e-5}, "lie", {"metric": "lcm"}),
]


@pytest.mark.parametrize(("peer", "peer_options", "name", "options"), PEERS)
def test_spd_learn_agrees_with_detached_statistics(peer, peer_options, name, options):
    """Forward, evaluation and gradient: its statistics are constants for autograd."""
    modules = pytest.importorskip("spd_learn.modules")
    x, cotangent = spd_matrices(4, 8, condition=6.0), spd_matrices(4, 8, seed=9)
    theirs = getattr(modules, peer)(num_features=4, **peer_options).double()
    ours = norm_layer(name, 4, stats_grad=False, dtype=torch.float64, **options)
    leaves = [x.clone().requires_grad_() for _ in range(2)]
    for training in (True, False):
        theirs.train(training)
        ours.train(training)
        outs = theirs(leaves[0].unsqueeze(1)).squeeze(1), ours(leaves[1])
        gradients = [torch.autograd.grad((o * cotangent).sum(), v)[0] for o, v in zip(outs, leaves, strict=True)]
        torch.testing.assert_close(*outs, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(*gradients, rtol=1e-9, atol=1e-9)


def test_where_spd_learn_is_wrong():
    """Held here so that a release which mends it is noticed, and the table in the docs with it."""
    modules = pytest.importorskip("spd_learn.modules")
    x = spd_matrices(4, 8, 3, condition=6.0)
    # Buffers take the shape of the data: with channels a checkpoint does not load.
    theirs = modules.SPDBatchNormMean(num_features=4).double()
    theirs(x)
    with pytest.raises(RuntimeError, match="running_mean"):
        modules.SPDBatchNormMean(num_features=4).double().load_state_dict(theirs.state_dict())
    # An empty batch is an error.
    with pytest.raises(RuntimeError):
        modules.SPDBatchNormMean(num_features=4).double()(x[:0])
    # The mean is detached, the variance is not: neither the derivative of the layer nor that at fixed statistics.
    y, cotangent = x[:, 0], spd_matrices(4, 8, seed=9)

    def gradient(call):
        leaf = y.clone().requires_grad_()
        return torch.autograd.grad((call(leaf) * cotangent).sum(), leaf)[0]

    both = modules.SPDBatchNormMeanVar(num_features=4, eps=1e-5).double()
    theirs = gradient(lambda v: both(v.unsqueeze(1)).squeeze(1))
    for stats_grad in (True, False):
        ours = gradient(SPDMomentumBatchNorm(4, min_momentum=1.0, stats_grad=stats_grad, dtype=torch.float64))
        assert (ours - theirs).abs().max() > 0.1 * ours.abs().max()


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


@pytest.mark.parametrize(("dtype", "condition"), [(torch.float32, 1e5), (torch.float64, 1e10)])
@pytest.mark.parametrize("shared", [True, False])
def test_a_running_mean_loses_no_direction(dtype, condition, shared):
    # The batch's mean is tenfold the running one, and as ill conditioned along almost the same directions: a root of
    # the product of the two, whose condition number is squared, would hold nothing of the least of them.
    running = random_spd(8, condition=condition, generator=torch.Generator().manual_seed(0))
    turn = torch.linalg.qr(torch.eye(8, dtype=torch.float64) + 0.01 * torch.ones(8, 8).triu(1).double()).Q
    batch = symmetrize(10 * turn @ running @ turn.mT)
    kernel, t = BuresWassersteinKernel(), torch.tensor(0.1, dtype=dtype)
    a, b = running.to(dtype), batch.to(dtype)
    for _ in range(200):
        a = kernel.towards(a, spectrum(b), t) if shared else kernel.interpolate(a, b, t)
    found, expected = torch.linalg.eigvalsh(a.double()), torch.linalg.eigvalsh(b.double())
    torch.testing.assert_close(found, expected, rtol=0.05, atol=0)


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


@pytest.mark.parametrize("start", [0.2, -0.5])
def test_a_learned_theta_stays_on_its_side_of_zero(start):
    layer = GBWBatchNorm(3, theta=start, learn_theta=True, dtype=torch.float64)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(50):
        optimizer.zero_grad()
        (layer.theta * start).backward()
        optimizer.step()
    assert 0 < layer.theta.item() / start < 1
    assert layer(spd_matrices(3, 6)).isfinite().all()
    layer.theta = torch.tensor(-0.7, dtype=torch.float64)
    assert layer.theta.item() == pytest.approx(-0.7)
    # What was saved when theta was a parameter itself.
    state = layer.state_dict()
    for name in ("original", "0.sign"):
        del state[f"parametrizations.theta.{name}"]
    state["theta"] = torch.tensor(-0.3, dtype=torch.float64)
    state._metadata[""]["version"] = 1
    layer.reset_parameters()
    assert layer.theta.item() == pytest.approx(start)
    layer.load_state_dict(state)
    assert layer.theta.item() == pytest.approx(-0.3)


def test_exp_parametrization_is_assignable():
    layer = GBWBatchNorm(3, dtype=torch.float64)
    target = spd_matrices(3, condition=50.0)
    layer.bias = target
    torch.testing.assert_close(layer.bias, target, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(expm(logm(target)), target, rtol=1e-10, atol=1e-10)
    assert np.isfinite(layer.bias.detach().numpy()).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: gbw_batch_norm(x, torch.eye(4, dtype=x.dtype)), "running_var"),
        (lambda x: gbw_batch_norm(x.bfloat16()), "float32 or float64"),
        (lambda x: gbw_batch_norm(x, eps=-1.0), "eps"),
        (lambda x: gbw_batch_norm(x, mean_iterations=-1), "mean_iterations"),
        (lambda x: gbw_batch_norm(x, theta=0.0), "theta"),
        (lambda x: gbw_batch_norm(x, metric=torch.eye(3, dtype=x.dtype)), "metric"),
        (lambda x: gbw_batch_norm(x, variant="script"), "variant"),
        (lambda x: lie_batch_norm(x, alpha=1.0, beta=-0.3), "beta"),
        (lambda x: LieBatchNorm(4, beta=-0.25), "beta"),
        (lambda x: LieBatchNorm(4, metric="lcm", alpha=2.0), "lcm"),
        (lambda x: LieBatchNorm(4, metric="bwm"), "metric"),
        (lambda x: LieBatchNorm(4, theta=0.0), "theta"),
        (lambda x: LieBatchNorm(4, translation="left"), "translation"),
        (lambda x: ManifoldNorm(4, algorithm=3), "algorithm"),
        (lambda x: ManifoldNorm(4, metric="lcm"), "metric"),
        (lambda x: SPDMomentumBatchNorm(4, min_momentum=0.0), "minimum"),
        (lambda x: GBWBatchNorm(4, momentum=1.5), "momentum"),
        (lambda x: GBWBatchNorm(4, eps=-1.0), "eps"),
        (lambda x: GBWBatchNorm(0), "num_features"),
        (lambda x: norm_layer("batch", 4), "unknown normalisation"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(spd_matrices(4, 5))
