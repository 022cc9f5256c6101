"""The fused Bures-Wasserstein normalisation against its plain composition: values, gradients, second derivatives."""

from __future__ import annotations

import weakref

import pytest
import torch
from tests.helpers import spd_matrices
from torch.autograd import gradcheck, gradgradcheck

from spdnorm.functional.kernels import bw_fold, bw_fused, bw_steps, native
from spdnorm.functional.kernels.bw_fused import Arguments
from spdnorm.linalg import eigh_backend, symmetrize

NAMES = ("x", "inward", "outward", "bias", "scale", "mean", "variance")
#: Which of the optional inputs are given.
CASES = {
    "training": ("inward", "outward", "bias", "scale"),
    "identity metric": ("bias", "scale"),
    "no bias": ("inward", "outward"),
    "bare": (),
    "mean given": ("inward", "outward", "bias", "scale", "mean"),
    "evaluation": ("inward", "outward", "bias", "scale", "mean", "variance"),
}


@pytest.fixture(params=["compiled", "torch"], autouse=True)
def way(request):
    """Both ways of computing it: compiled where that is to be had, and in torch."""
    if request.param == "compiled":
        if (reason := native.unavailable()) is not None:
            pytest.skip(reason)
        yield request.param
    else:
        with eigh_backend("torch"):
            yield request.param


def _inputs(given, n, batch, *, channels=(), kind="generic", condition=8.0, scale=0.7):
    x = spd_matrices(n, batch, *channels, kind=kind, condition=condition)
    point = spd_matrices(n, *channels, condition=4.0, seed=2)
    everything = {
        "inward": spd_matrices(n, *channels, condition=3.0, seed=3),
        "outward": spd_matrices(n, *channels, condition=3.0, seed=4),
        "bias": point,
        "scale": torch.full(channels, scale, dtype=torch.float64),
        "mean": spd_matrices(n, *channels, condition=condition, seed=5),
        "variance": torch.full(channels, 0.4, dtype=torch.float64),
    }
    return [x, *(everything[name].clone() if name in given else None for name in NAMES[1:])]


def _leaves(inputs):
    return [t if t is None else t.detach().clone().requires_grad_() for t in inputs]


def _symmetric(inputs):
    return [t if t is None or t.dim() < 2 else symmetrize(t) for t in inputs]


def _fused(arguments, inputs):
    return bw_fused.normalise(arguments, *_symmetric(inputs))[0]


def _plain(arguments, inputs):
    options = {k: v for k, v in arguments._asdict().items() if k != "on_mean"}
    return bw_steps.normalise(*_symmetric(inputs), **options)


def _compare(inputs, arguments, rtol, atol):
    results = []
    for call in (_fused, _plain):
        leaves = _leaves(inputs)
        out = call(arguments, leaves)
        # A cotangent without symmetry: nothing may lean on its being symmetric.
        cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        wanted = [t for t in leaves if t is not None and t.requires_grad]
        results.append([out, *torch.autograd.grad((out * cotangent).sum(), wanted)])
    for fused, plain in zip(*results, strict=True):
        torch.testing.assert_close(fused, plain, rtol=rtol, atol=atol)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("channels", [(), (2,)])
@pytest.mark.parametrize("kind", ["generic", "ties"])
def test_equals_the_composition(case, channels, kind):
    inputs = _inputs(CASES[case], 5, 7, channels=channels, kind=kind)
    _compare(inputs, Arguments(eps=1e-5, stats_grad=True, weight=1.7), 1e-9, 1e-10)


@pytest.mark.parametrize("scale", [1.9, -1.3])
@pytest.mark.parametrize("batch", [9, 21])
def test_equals_the_composition_where_samples_fold(scale, batch, way, monkeypatch):
    inputs = _inputs(CASES["training"], 4, batch, condition=300.0, scale=scale)
    folded = []
    _spy(monkeypatch, bw_fold if way == "torch" else native, way, folded)
    _compare(inputs, Arguments(eps=1e-5, stats_grad=True, weight=1.0), 1e-8, 1e-9)
    assert 0 < folded[0] < batch


def _spy(monkeypatch, module, way, folded):
    original = module.forward

    def spy(*arguments, **named):
        out, kept = original(*arguments, **named)
        # Compiled, which lanes fold comes last of what is kept of n n + n + 1 numbers each.
        lanes = None if way == "torch" else kept.fold[-(len(kept.fold) // (4 * 4 + 4 + 1)) :]
        folded.append(len(kept.rows) if lanes is None else int(lanes[: len(out.out)].sum()))
        return out, kept

    monkeypatch.setattr(module, "forward", spy)


@pytest.mark.parametrize("scale", [1.9, -1.3])
def test_equals_the_composition_where_all_samples_are_decomposed_for_the_fold(scale, monkeypatch):
    """What a GPU does, which a look at the data would keep waiting."""
    monkeypatch.setattr(bw_fold, "may_look", lambda _: False)
    inputs = _inputs(CASES["training"], 4, 9, condition=300.0, scale=scale)
    with eigh_backend("torch"):
        _compare(inputs, Arguments(eps=1e-5, stats_grad=True, weight=1.0), 1e-8, 1e-9)


@pytest.mark.parametrize("case", ["training", "bare", "evaluation"])
def test_detached_statistics(case):
    _compare(_inputs(CASES[case], 4, 6), Arguments(eps=1e-5, stats_grad=False, weight=1.0), 1e-9, 1e-10)


@pytest.mark.parametrize("case", ["training", "mean given"])
def test_derivatives(case):
    arguments = Arguments(eps=1e-5, stats_grad=True, weight=1.0)
    inputs = _inputs(CASES[case], 3, 3, kind="ties")
    leaves = _leaves(inputs)
    given = [t for t in leaves if t is not None and t.requires_grad]

    def call(*tensors):
        replaced = iter(tensors)
        return _fused(arguments, [next(replaced) if t is not None and t.requires_grad else t for t in leaves])

    assert gradcheck(call, given, atol=1e-5, rtol=1e-4)
    assert gradgradcheck(call, given, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize(("condition", "tolerance"), [(1e4, 1e-6), (1e8, 1e-2), (1e10, 5e-2)])
def test_ill_conditioned(condition, tolerance):
    """About the samples' own barycentre; neither way is nearer to the truth (docs, numerics)."""
    inputs = _inputs(CASES["training"], 6, 5, condition=condition)
    arguments = Arguments(eps=1e-5, stats_grad=True, weight=1.0)
    gradients = []
    for call in (_fused, _plain):
        leaves = _leaves(inputs)
        out = call(arguments, leaves)
        cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
        wanted = [t for t in leaves if t is not None and t.requires_grad]
        gradients.append([out, *torch.autograd.grad((out * cotangent).sum(), wanted)])
    for fused, plain in zip(*gradients, strict=True):
        assert (fused - plain).abs().max() < tolerance * plain.abs().max()


def test_a_scale_of_another_dtype():
    """Promoted, as torch does it: its bytes are not taken for numbers of the samples' dtype."""
    inputs = _inputs(CASES["training"], 4, 6)
    out = _fused(Arguments(eps=1e-5, stats_grad=True, weight=1.0), inputs)
    inputs[4] = inputs[4].float()
    torch.testing.assert_close(
        _fused(Arguments(eps=1e-5, stats_grad=True, weight=1.0), inputs), out, rtol=1e-6, atol=1e-6
    )


def test_singular_samples_and_mean_are_finite():
    inputs = _inputs(CASES["training"], 5, 6, kind="boundary")
    inputs[0] = spd_matrices(5, 6, kind="boundary", rank=2)
    leaves = _leaves(inputs)
    out = _fused(Arguments(eps=1e-5, stats_grad=True, weight=1.0), leaves)
    out.square().sum().backward()
    for tensor in (out, *(t.grad for t in leaves if t is not None and t.requires_grad)):
        assert tensor.isfinite().all()


def test_gradients_inside_autocast():
    """The whole backward pass is one function, and none of it is lowered."""
    leaves = _leaves([t.float() for t in _inputs(CASES["training"], 4, 6) if t is not None] + [None, None])
    loss = _fused(Arguments(eps=1e-5, stats_grad=True, weight=1.0), leaves).square().sum()
    wanted = [t for t in leaves if t is not None]
    expected = torch.autograd.grad(loss, wanted, retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = torch.autograd.grad(loss, wanted)
    assert all(map(torch.equal, inside, expected))


def test_what_is_saved_is_let_go_of():
    """Autograd holds all of it, so that a backward pass, a checkpoint or offloading to the host frees the memory."""
    leaves = _leaves(_inputs(CASES["training"], 5, 40))
    kept = []

    def pack(tensor):
        kept.append(weakref.ref(tensor))
        return tensor.clone()  # what offloading does: the tensor itself is needed no longer

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = _fused(Arguments(eps=1e-5, stats_grad=True, weight=1.0), leaves)
    large = [r() for r in kept if r() is not None and r().numel() >= leaves[0].numel()]
    # The symmetrised input belongs to the graph before; of the rest nothing is alive.
    assert len(large) <= 1
    assert len(kept) > 5
    expected = torch.autograd.grad(_plain(Arguments(eps=1e-5, stats_grad=True, weight=1.0), leaves).sum(), leaves[0])
    torch.testing.assert_close(torch.autograd.grad(out.sum(), leaves[0]), expected, rtol=1e-9, atol=1e-10)
