"""The reference variant: each stated difference from the paper, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers import spd_matrices
from tests.norm import transcription

from spdnorm.functional import gbw_batch_norm, reference_gbw_batch_norm
from spdnorm.functional.reference import OverwrittenPower, TiesAsZero
from spdnorm.linalg import SQRT, spectrum
from spdnorm.nn import GBWBatchNorm
from spdnorm.testing.norm_laws import randomize


def _case(condition=8.0):
    x = spd_matrices(4, 9, condition=condition)
    m, g = spd_matrices(4, condition=3.0, seed=1), spd_matrices(4, condition=2.0, seed=2)
    return x, m, g


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("bias_target", ["deformed", "raw"])
@pytest.mark.parametrize(("theta", "condition"), [(1.0, 3.0), (1.0, 100.0), (0.5, 100.0), (0.75, 20.0)])
def test_agrees_with_its_transcription(theta, condition, bias_target, training):
    """The variance about the identity, before centring; the raw target for the last transport; all else as Alg. 1."""
    x, m, g = _case(condition)
    mean, var = torch.eye(4).double(), torch.tensor(1.3, dtype=torch.float64)
    shared = {"theta": theta, "training": training, "momentum": 0.3, "eps": 1e-5}
    expected = transcription.gbwbn(
        x.numpy(), mean.numpy(), 1.3, m=m.numpy(), g=g.numpy(), s=0.7, iterations=1,
        about_identity=True, raw_target=bias_target == "raw", **shared,
    )  # fmt: skip
    out = reference_gbw_batch_norm(
        x, mean, var, metric=m, bias=g, scale=torch.tensor(0.7, dtype=torch.float64), bias_target=bias_target, **shared
    )
    for ours, theirs in zip((out, mean, var), expected, strict=True):
        assert np.abs(ours.numpy() - theirs).max() <= 1e-9 * np.abs(theirs).max()


def test_statistics_are_detached():
    x, m, g = _case()
    gradients = []
    for function, options in (
        (reference_gbw_batch_norm, {}),
        (gbw_batch_norm, {"stats_grad": True}),
    ):
        leaf = x.clone().requires_grad_()
        mean, var = torch.eye(4).double(), torch.ones((), dtype=torch.float64)
        out = function(leaf, mean, var, metric=m, bias=g, training=True, momentum=1.0, **options)
        gradients.append(torch.autograd.grad(out.square().sum(), leaf)[0])
        # As if the statistics had been given.
        given = function(leaf, mean, var, metric=m, bias=g, training=False)
        frozen = torch.autograd.grad(given.square().sum(), leaf)[0]
        same = torch.allclose(gradients[-1], frozen, rtol=1e-8)
        assert same is (function is reference_gbw_batch_norm)


def test_script_gradient_of_the_power():
    """On the diagonal of the divided differences stands the derivative of x^(1/theta)."""
    x = torch.diag(torch.tensor([0.5, 2.0, 4.0], dtype=torch.float64)).requires_grad_()
    direction = torch.full((3, 3), 1.0, dtype=torch.float64)
    gradients = [
        torch.autograd.grad((spectrum(x).apply(f) * direction).sum(), x)[0] for f in (SQRT, OverwrittenPower(0.5))
    ]
    torch.testing.assert_close(gradients[1].diagonal(), 2 * x.detach().diagonal())
    gap = gradients[0] - gradients[1]
    assert (gap - torch.diag(gap.diagonal())).abs().max() < 1e-15


def test_refit_estimates_what_the_variant_tracks():
    x, *_ = _case()
    layer = GBWBatchNorm(4, variant="reference", theta=0.5, momentum=1.0, mean_iterations=None, dtype=torch.float64)
    layer(x)
    tracked = layer.running_mean.clone(), layer.running_var.clone()
    layer.reset_running_stats()
    layer.refit(x)
    torch.testing.assert_close((layer.running_mean, layer.running_var), tracked, rtol=1e-9, atol=1e-9)


def test_ties_count_as_zero_off_the_diagonal():
    x = torch.diag(torch.tensor([1.0, 1.0, 4.0], dtype=torch.float64)).requires_grad_()
    direction = torch.ones(3, 3, dtype=torch.float64)
    (exact,) = torch.autograd.grad((spectrum(x).apply(SQRT) * direction).sum(), x)
    (script,) = torch.autograd.grad((spectrum(x).apply(TiesAsZero(SQRT)) * direction).sum(), x)
    assert exact[0, 1].item() == pytest.approx(0.5)
    assert script[0, 1].item() == 0.0
    exact[0, 1] = exact[1, 0] = 0
    torch.testing.assert_close(script, exact)


def test_layer_has_the_variant():
    options = {"bias_target": "raw", "power_gradient": "script"}
    layer = GBWBatchNorm(4, variant="reference", theta=0.5, dtype=torch.float64, **options)
    x = spd_matrices(4, 6)
    out = layer(x)
    torch.testing.assert_close(
        out, reference_gbw_batch_norm(x, metric=layer.metric, bias=layer.bias, theta=0.5, training=True, **options)
    )
    out.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
    for name, value in options.items():
        assert f"{name}='{value}'" in repr(layer)
        with pytest.raises(ValueError, match=name):
            GBWBatchNorm(4, **{name: value})


@pytest.mark.slow
@pytest.mark.parametrize("bias_target", ["deformed", "raw"])
def test_compiles_and_exports(bias_target):
    torch._dynamo.reset()
    options = {"variant": "reference", "theta": 0.5, "bias_target": bias_target, "dtype": torch.float64}
    eager, compiled = (randomize(GBWBatchNorm(4, **options)) for _ in range(2))
    program = torch.compile(compiled, fullgraph=True, backend="aot_eager")
    x, _, _ = _case(60.0)
    leaves = [x.clone().requires_grad_() for _ in range(2)]
    for training in (True, False):
        eager.train(training)
        compiled.train(training)
        outs = eager(leaves[0]), program(leaves[1])
        torch.testing.assert_close(*outs, rtol=1e-8, atol=1e-8)
        gradients = [torch.autograd.grad(o.square().sum(), v)[0] for o, v in zip(outs, leaves, strict=True)]
        torch.testing.assert_close(*gradients, rtol=1e-7, atol=1e-7)
    exported = torch.export.export(eager, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},))
    torch.testing.assert_close(exported.module()(x[:5]), eager(x[:5]), rtol=1e-9, atol=1e-9)
