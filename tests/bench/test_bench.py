"""``spdnorm bench``: what it measures and writes, never how long it took."""

from __future__ import annotations

import json

import pytest
import torch
from typer.testing import CliRunner

from spdnorm.bench import race
from spdnorm.bench.command import app
from spdnorm.bench.operations import contenders, operation_names
from spdnorm.bench.steps import epoch, forward_backward, samples, saved_bytes, training_step
from spdnorm.nn import GBWBatchNorm


def test_contenders_take_turns():
    calls = []
    timings = race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3, warmup=1)
    assert calls == ["a", "b"] * 4
    assert set(timings) == {"a", "b"}
    assert all(t.low <= t.median <= t.high for t in timings.values())


def test_a_pass_reaches_every_parameter():
    layer = GBWBatchNorm(4, dtype=torch.float64)
    forward_backward(layer, samples(5, 4))()
    assert all(p.grad is not None for p in layer.parameters())


def test_a_step_moves_the_network():
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(9, 2, dtype=torch.float64))
    before = network[1].weight.detach().clone()
    training_step(network, samples(4, 3), torch.tensor([0, 1, 0, 1]))()
    assert not torch.equal(before, network[1].weight)


def test_an_epoch_sees_every_batch_once_and_trains():
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(9, 2, dtype=torch.float64))
    seen = []
    network.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].clone()))
    x = samples(11, 3)
    before = network[1].weight.detach().clone()
    epoch(network, x, torch.arange(11) % 2, batch=4)()
    assert len(seen) == 2
    rows = torch.cat(seen)
    assert len({tuple(m.flatten().tolist()) for m in rows}) == 8
    assert all(any(torch.equal(m, original) for original in x) for m in rows)
    assert not torch.equal(before, network[1].weight)


def test_kept_memory_is_counted():
    x = samples(50, 4)
    # exp keeps its result, which is the output; the product keeps one more matrix a sample.
    assert saved_bytes(lambda v: v.exp(), x) == 0
    assert saved_bytes(lambda v: v.exp() * 2.0 * v, x) == 2 * x.numel() * 8
    assert saved_bytes(GBWBatchNorm(4, dtype=torch.float64), x) > 4 * x.numel() * 8


def test_command(tmp_path):
    result = CliRunner().invoke(app, ["eigensolvers", "threads", "--quick", "--rounds", "1", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "timings.json").read_text())
    assert [table["title"] for table in written["tables"]] == ["Eigensolvers", "Threads"]
    assert written["measured on"]["packages"]["torch"] == torch.__version__.partition("+")[0]
    row = written["tables"][0]["rows"]["batch 30, n 12"]
    assert {"torch", "host"} <= set(row)
    assert row["torch"]["median"] > 0
    assert "| torch |" in (tmp_path / "tables.md").read_text()
    assert (tmp_path / "timings.png").stat().st_size > 1000


@pytest.mark.parametrize("operation", operation_names())
def test_peers_compute_the_same(operation):
    x, point = samples(12, 5), samples(1, 5, seed=1)[0]
    results = {name: torch.as_tensor(call()) for name, call in contenders(operation, x, point)}
    assert len(results) > 1
    for found in results.values():
        torch.testing.assert_close(found, results["spdnorm"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["speed"], "unknown table"),
        (["layers", "--dtype", "float16"], "float64 or float32"),
        (["layers", "--device", "abacus"], "no such device"),
    ],
)
def test_refused(arguments, message):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code != 0
    assert message in result.output
