"""The fused steps against their plain compositions: values, gradients, second derivatives."""

from __future__ import annotations

import pytest
import torch
from tests.helpers import spd_matrices
from torch.autograd import gradcheck, gradgradcheck

from spdnorm.functional.kernels import bw_fused, bw_steps
from spdnorm.geometry import BuresWasserstein
from spdnorm.linalg import symmetrize

STEPS = ("root_of_congruence", "deviation", "biased")


def _inputs(step, n, batch, channels=(), kind="generic", condition=8.0):
    generator = torch.Generator().manual_seed(1)
    general = torch.eye(n).double() + 0.2 * torch.randn(*channels, n, n, generator=generator, dtype=torch.float64)
    x = spd_matrices(n, batch, *channels, kind=kind, condition=condition)
    point = spd_matrices(n, *channels, condition=condition, kind=kind if kind == "ties" else "generic", seed=2)
    if step == "root_of_congruence":
        return x, general
    if step == "biased":
        return 0.3 * (x - torch.eye(n).double()), point, general
    return x, point, general


def _call(module, step, inputs):
    # General third and P arguments, symmetric others.
    general = 1 if step == "root_of_congruence" else 2
    return getattr(module, step)(*(t if i == general else symmetrize(t) for i, t in enumerate(inputs)))


@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize("kind", ["generic", "ties"])
@pytest.mark.parametrize("step", STEPS)
def test_equals_the_composition(step, kind, channels):
    leaves = [[t.clone().requires_grad_() for t in _inputs(step, 5, 7, channels, kind)] for _ in range(2)]
    outs = [_call(module, step, inputs) for module, inputs in zip((bw_fused, bw_steps), leaves, strict=True)]
    torch.testing.assert_close(*outs, rtol=1e-11, atol=1e-12)
    # A cotangent without symmetry: nothing may lean on its being symmetric.
    cotangent = torch.randn(outs[0].shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    gradients = [torch.autograd.grad((o * cotangent).sum(), i) for o, i in zip(outs, leaves, strict=True)]
    for fused, plain in zip(*gradients, strict=True):
        torch.testing.assert_close(fused, plain, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("step", STEPS)
def test_derivatives(step):
    inputs = tuple(t.requires_grad_() for t in _inputs(step, 3, 2, kind="ties"))
    assert gradcheck(lambda *t: _call(bw_fused, step, t), inputs)
    assert gradgradcheck(lambda *t: _call(bw_fused, step, t), inputs, atol=1e-4)


@pytest.mark.parametrize("step", ["root_of_congruence", "deviation"])
@pytest.mark.parametrize(("condition", "tolerance"), [(1e4, 1e-6), (1e8, 1e-2)])
def test_ill_conditioned(step, condition, tolerance):
    """About the samples' own barycentre, where a layer stands; neither way is nearer to the truth (docs, numerics)."""
    x, *others = _inputs(step, 6, 5, condition=condition)
    if step == "deviation":
        others = [BuresWasserstein().mean(x), torch.eye(6).double()]
    leaves = [[t.clone().requires_grad_() for t in (x, *others)] for _ in range(2)]
    outs = [_call(module, step, inputs) for module, inputs in zip((bw_fused, bw_steps), leaves, strict=True)]
    cotangent = torch.randn(x.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    gradients = [torch.autograd.grad((o * cotangent).sum(), i) for o, i in zip(outs, leaves, strict=True)]
    for fused, plain in zip((outs[0], *gradients[0]), (outs[1], *gradients[1]), strict=True):
        assert (fused - plain).abs().max() < tolerance * plain.abs().max()


def test_singular_mean_and_samples_are_finite():
    x = spd_matrices(5, 6, kind="boundary", rank=2).requires_grad_()
    mean = x.detach()[0].clone().requires_grad_()
    eye = torch.eye(5).double()
    out = bw_fused.deviation(x, mean, eye)
    out.square().sum().backward()
    for tensor in (out, x.grad, mean.grad):
        assert tensor.isfinite().all()
