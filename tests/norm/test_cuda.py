"""The layers on a GPU: the same numbers as on the CPU, eager and compiled."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.helpers import spd_matrices

from spdnorm.nn import DomainBatchNorm, norm_layer
from spdnorm.testing.norm_laws import randomize

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

METHODS = [
    ("gbw", {}),
    ("gbw", {"theta": 0.5}),
    ("gbw", {"theta": 0.75}),
    ("gbw", {"variant": "reference"}),
    ("gbw", {"variant": "reference", "theta": 0.5, "bias_target": "raw", "power_gradient": "script"}),
    ("bw", {}),
    ("spd", {}),
    ("spdm", {}),
    ("manifold", {"algorithm": 2}),
    ("lie", {}),
    ("lie", {"metric": "lem"}),
    ("lie", {"metric": "lcm"}),
]


def _pair(name, options, n, dtype=torch.float64):
    layer = randomize(norm_layer(name, n, dtype=dtype, **options))
    return layer, copy.deepcopy(layer).cuda()


def _run(layer, x):
    x = x.clone().requires_grad_()
    out = layer(x)
    gradients = torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])
    return [out, *gradients]


@pytest.mark.parametrize("n", [6, 40])
@pytest.mark.parametrize(("name", "options"), METHODS)
def test_equals_the_cpu(name, options, n):
    on_cpu, on_gpu = _pair(name, options, n)
    x = spd_matrices(n, 16, condition=30.0)
    for training in (True, False):
        on_cpu.train(training)
        on_gpu.train(training)
        for a, b in zip(_run(on_cpu, x), _run(on_gpu, x.cuda()), strict=True):
            torch.testing.assert_close(b.cpu(), a, rtol=1e-7, atol=1e-8 * float(a.detach().abs().max()))
    for a, b in zip(on_cpu.buffers(), on_gpu.buffers(), strict=True):
        torch.testing.assert_close(b.cpu(), a, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("name", "options"), METHODS)
def test_float32(name, options):
    on_cpu, on_gpu = _pair(name, options, 6, torch.float32)
    x = spd_matrices(6, 16, condition=10.0).float()
    out, expected = on_gpu(x.cuda()).cpu(), on_cpu(x)
    torch.testing.assert_close(out, expected, rtol=2e-3, atol=2e-3 * float(expected.detach().abs().max()))


@pytest.mark.parametrize(("name", "options"), METHODS[:2])
def test_compiled_by_inductor(name, options):
    torch._dynamo.reset()
    _, eager = _pair(name, options, 6)
    compiled = torch.compile(copy.deepcopy(eager), fullgraph=True)
    x = spd_matrices(6, 16, condition=30.0).cuda()
    for a, b in zip(_run(eager, x), _run(compiled, x), strict=True):
        torch.testing.assert_close(b, a, rtol=1e-7, atol=1e-8 * float(a.detach().abs().max()))


@pytest.mark.parametrize("n", [6, 40])
@pytest.mark.parametrize(("name", "options"), METHODS)
def test_graph_replays(name, options, n):
    """Steps replayed from a graph, where work overlaps, leave the numbers and the buffers of eager steps."""
    _, eager = _pair(name, options, n)
    captured, batches = copy.deepcopy(eager), [spd_matrices(n, 12, condition=30.0, seed=s).cuda() for s in range(6)]
    expected = [_run(eager, x) for x in [batches[0]] * 3 + batches]
    x, stream = batches[0].clone(), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            _run(captured, x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = _run(captured, x)
    for batch, wanted in zip(batches, expected[3:], strict=True):
        x.copy_(batch)
        graph.replay()
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10 * float(b.detach().abs().max()))
    for a, b in zip(captured.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)


def test_domains():
    layer = DomainBatchNorm(randomize(norm_layer("gbw", 5, dtype=torch.float64)), 3)
    on_gpu = copy.deepcopy(layer).cuda()
    x = spd_matrices(5, 12, condition=10.0)
    domains = torch.arange(12) % 3
    torch.testing.assert_close(on_gpu(x.cuda(), domains.cuda()).cpu(), layer(x, domains), rtol=1e-8, atol=1e-9)
