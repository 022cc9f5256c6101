"""``torchrun`` and Fabric: several processes end where one does, and a dead one ends the job, not the checkpoint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import spdnorm
from spdnorm.experiments.files import read_json

TORCHRUN = (
    "torch.distributed.run",
    "--nproc-per-node",
    "2",
    "--rdzv-backend",
    "c10d",
    "--rdzv-endpoint",
    "localhost:0",
)
TRAIN = ("train", "demo:gbwbn", "--set", "train.epochs=5", "--progress", "off")


def launch(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.slow
def test_a_dead_rank_ends_the_job_and_the_rest_is_what_one_process_finds(tmp_path):
    pattern = "many/runs/*/checkpoint.pt"
    script = str(Path(__file__).with_name("dying_rank.py"))
    many = (*TRAIN, "--devices", "2", "--results", "many")
    died = launch(tmp_path, *TORCHRUN, script, pattern, "2", "--", *many)
    assert died.returncode != 0
    assert "SIGKILL" in died.stderr
    (checkpoint,) = tmp_path.glob(pattern)
    left = torch.load(checkpoint, weights_only=True)
    assert 2 <= len(left["history"]) < 5
    assert left["world_size"] == 2

    refused = launch(tmp_path, "spdnorm", *TRAIN, "--results", "many")
    assert refused.returncode == 1
    assert "was started on 2 devices" in refused.stderr

    continued = launch(tmp_path, *TORCHRUN, "-m", "spdnorm", *many)
    assert continued.returncode == 0, continued.stderr
    alone = launch(tmp_path, "spdnorm", *TRAIN, "--results", "one")
    assert alone.returncode == 0, alone.stderr
    (found,), (expected,) = (tmp_path.glob(f"{name}/runs/*/model.pt") for name in ("many", "one"))
    a, b = (torch.load(file, weights_only=True)["last"] for file in (found, expected))
    assert a.keys() == b.keys()
    for name, value in b.items():
        # Some 40 Adam steps, whose quotients enlarge the rounding of sums in another order.
        torch.testing.assert_close(a[name], value, rtol=1e-6, atol=1e-7, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.slow
def test_a_network_with_dropout_continues_on_two_processes_in_the_same_bits(tmp_path):
    # 40 signals in batches of 15: the processes' shares differ in size, and with them what dropout draws.
    (tmp_path / "signals.toml").write_text(
        """name = "signals"
title = "Signals"
[base]
data = { name = "basic-motions" }
model = { name = "eegnet" }
train = { epochs = 5, batch_size = 15, dtype = "float32" }
[[rows]]
key = "eegnet"
label = "EEGNet"
[[columns]]
key = "motions"
label = "BasicMotions"
"""
    )
    train = ("train", "signals.toml", "--devices", "2", "--progress", "off", "--results")
    script = str(Path(__file__).with_name("dying_rank.py"))
    died = launch(tmp_path, *TORCHRUN, script, "broken/runs/*/checkpoint.pt", "2", "--", *train, "broken")
    assert "SIGKILL" in died.stderr
    for results in ("broken", "whole"):
        done = launch(tmp_path, *TORCHRUN, "-m", "spdnorm", *train, results)
        assert done.returncode == 0, done.stderr
    a, b = (
        torch.load(next(tmp_path.glob(f"{r}/runs/*/model.pt")), weights_only=True)["last"] for r in ("broken", "whole")
    )
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in b)


@pytest.mark.slow
def test_fabric_run_launches_what_torchrun_does(tmp_path):
    script = str(Path(spdnorm.__file__).with_name("__main__.py"))
    fabric = (str(Path(sys.executable).with_name("fabric")), "run", "--accelerator=cpu", "--devices=2", script)
    done = subprocess.run(
        [*fabric, *TRAIN, "--results", "fabric"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    done = launch(tmp_path, *TORCHRUN, "-m", "spdnorm", *TRAIN, "--devices", "2", "--results", "torchrun")
    assert done.returncode == 0, done.stderr
    a, b = (next(tmp_path.glob(f"{name}/runs/*")) for name in ("fabric", "torchrun"))
    assert all(read_json(folder / "environment.json")["devices"] == 2 for folder in (a, b))
    one, other = (torch.load(folder / "model.pt", weights_only=True)["last"] for folder in (a, b))
    assert all(torch.equal(one[name], other[name]) for name in other)
