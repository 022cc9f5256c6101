"""Determinism, continuing, and what a run leaves behind."""

from __future__ import annotations

import csv
import math
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from experiment_helpers import small_config
from lightning_fabric import Fabric

from spdnorm.experiments import CheckpointError, Execution, RunConfig, RunFolder, RunLockedError, Store
from spdnorm.experiments.batched_trainer import BatchedTrainer
from spdnorm.experiments.checkpoint import load_checkpoint
from spdnorm.experiments.data import load_task
from spdnorm.experiments.run import make_trainer, run

#: What differs from one computation of the same numbers to the next.
CLOCK = {"seconds", "samples_per_second", "seconds_per_epoch", "median_seconds_per_epoch", "commit"}


def numbers(folder: RunFolder) -> dict[str, Any]:
    """All that a run came to, clock aside: weights, metrics, result."""
    state = torch.load(folder.model_file, weights_only=True)
    with folder.metrics_file.open(newline="") as stream:
        rows = [{key: text for key, text in row.items() if key not in CLOCK} for row in csv.DictReader(stream)]
    result = {key: value for key, value in folder.result().items() if key not in CLOCK}
    return {"weights": state, "rows": rows, "result": result}


def assert_same_bits(left: dict[str, Any], right: dict[str, Any]) -> None:
    assert left["rows"] == right["rows"]
    assert left["result"] == right["result"]
    for which in ("selected", "last"):
        a, b = left["weights"][which], right["weights"][which]
        assert a.keys() == b.keys()
        assert all(torch.equal(a[key], b[key]) for key in a), which


def test_same_seed_same_bits_and_the_callers_randomness_is_untouched(tmp_path: Path) -> None:
    config = small_config()
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    before = torch.get_rng_state(), np.random.get_state()[1], random.getstate()  # type: ignore[index]  # noqa: NPY002
    found = []
    for name in ("a", "b"):
        store = Store(tmp_path / name)
        run(config, store=store)
        found.append(numbers(store.run(config)))
        torch.rand(3), np.random.rand(3)  # noqa: NPY002
        torch.manual_seed(5)
        np.random.seed(5)  # noqa: NPY002
    assert_same_bits(*found)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # type: ignore[index]  # noqa: NPY002
    assert random.getstate() == before[2]
    other = small_config(seed=1)
    store = Store(tmp_path / "c")
    run(other, store=store)
    assert numbers(store.run(other))["rows"] != found[0]["rows"]


KILLED = """
import sys
from experiment_helpers import small_config
from lightning_fabric import Fabric
from spdnorm.experiments import Store
from spdnorm.experiments.run import run
from pathlib import Path
run(small_config(**eval(sys.argv[2])), store=Store(Path(sys.argv[1])))
"""


def start(root: Path, values: dict[str, Any]) -> subprocess.Popen[bytes]:
    # A name that the child can import the helper by.
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{KILLED}"
    command = [sys.executable, "-c", code, str(root), repr(values)]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


def kill_at(root: Path, config: RunConfig, values: dict[str, Any], *, epoch: int, delay: float) -> None:
    """Start the run in a process of its own and SIGKILL it some time after an epoch's row shows."""
    folder = Store(root).run(config)
    child = start(root, values)
    end = time.monotonic() + 120
    while folder.epochs_done() < epoch and child.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    time.sleep(delay)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert child.stderr is not None
    said = child.stderr.read().decode()
    child.stderr.close()
    assert child.returncode == -signal.SIGKILL, said


@pytest.mark.parametrize(
    "values",
    [
        {"train__epochs": 16, "optim__schedule.name": "cosine"},
        {
            "train__epochs": 16,
            "optim__name": "adam",
            "model__options.parametrized": False,
            "model__norm_options.parametrized": False,
            "optim__schedule.name": "plateau",
            "optim__schedule.patience": 1,
        },
    ],
    ids=["parametrized", "riemannian"],
)
def test_killed_and_continued_ends_in_the_same_bits(tmp_path: Path, values: dict[str, Any]) -> None:
    config = small_config(**values)
    whole = Store(tmp_path / "whole")
    run(config, store=whole)
    broken = Store(tmp_path / "broken")
    # Twice, at different moments: in an epoch, and around the checkpoint that follows the row of the next.
    for epoch, delay in ((3, 0.013), (7, 0.0)):
        kill_at(broken.root, config, values, epoch=epoch, delay=delay)
        folder = broken.run(config)
        assert not folder.done
        state = load_checkpoint(folder.checkpoint_file, config_hash=config.hash)
        assert state is not None
        assert len(state["history"]) >= epoch - 1
    run(config, store=broken)
    assert_same_bits(numbers(whole.run(config)), numbers(broken.run(config)))
    assert not broken.run(config).checkpoint_file.exists()


class Stop(Exception):
    """Stands for anything that ends a process in an orderly way."""


def interrupted(config: RunConfig, store: Store, *, after: int, execution: Execution | None = None) -> None:
    def stop(folder: RunFolder, row: dict[str, float]) -> None:
        if row["epoch"] == after:
            raise Stop

    with pytest.raises(Stop):
        run(config, store=store, on_epoch=stop, execution=execution)


def test_a_sparse_checkpoint_repeats_epochs_and_not_rows(store: Store) -> None:
    config = small_config(train__epochs=6)
    execution = Execution(checkpoint_every=4)
    interrupted(config, store, after=5, execution=execution)
    assert store.run(config).epochs_done() == 5
    assert "Stop" in store.run(config).error_file.read_text()
    run(config, store=store, execution=execution)
    with store.run(config).metrics_file.open(newline="") as stream:
        assert [row["epoch"] for row in csv.DictReader(stream)] == ["1", "2", "3", "4", "5", "6"]
    assert not store.run(config).error_file.exists()
    run(config, store=Store(store.root / "whole"))
    assert_same_bits(numbers(store.run(config)), numbers(Store(store.root / "whole").run(config)))


def test_damaged_and_foreign_checkpoints_are_named(store: Store) -> None:
    config, other = small_config(), small_config(seed=7)
    interrupted(config, store, after=1)
    interrupted(other, store, after=1)
    file = store.run(config).checkpoint_file
    content = file.read_bytes()
    file.write_bytes(store.run(other).checkpoint_file.read_bytes())
    with pytest.raises(CheckpointError, match="belongs to configuration"):
        run(config, store=store)
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(CheckpointError, match="remove it to start the run over"):
        run(config, store=store)


def test_a_finished_run_is_read_not_repeated(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config()
    first = run(config, store=store)
    calls: list[dict[str, float]] = []
    assert run(config, store=store, on_epoch=lambda folder, row: calls.append(row)) == first
    assert not calls


def test_two_processes_never_write_one_run(tmp_path: Path) -> None:
    values = {"train__epochs": 200}
    config, store = small_config(**values), Store(tmp_path)
    child = start(tmp_path, values)
    try:
        end = time.monotonic() + 120
        while store.run(config).epochs_done() < 1 and child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        assert child.poll() is None
        with pytest.raises(RunLockedError, match="another process"):
            run(config, store=store)
    finally:
        child.kill()
        child.communicate()
    # The lock went with its process.
    with store.run(config).locked():
        pass


def test_early_stopping_has_no_released_reading(store: Store) -> None:
    config = small_config(train__epochs=60, train__early_stopping=2, optim__lr=0.3)
    result = run(config, store=store)
    assert result["epochs"] < 60
    assert set(result["readings"]) == {"paper"}
    assert result["readings"]["paper"]["epoch"] == result["epochs"] - 2


def test_readings_are_what_the_metrics_say(store: Store) -> None:
    config = small_config(train__epochs=8)
    result = run(config, store=store)
    with store.run(config).metrics_file.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    chosen = min(rows, key=lambda row: float(row["validation_loss"]))
    paper, released = result["readings"]["paper"], result["readings"]["released"]
    assert paper["accuracy"] == float(chosen["test_accuracy"])
    assert paper["epoch"] == int(chosen["epoch"])
    assert released["accuracy"] == float(rows[-1]["validation_batch_accuracy"])
    assert (released["part"], released["average"], released["selection"]) == ("validation", "batches", "last epoch")


def test_a_loss_that_is_no_number_is_never_the_best() -> None:
    config = small_config(train__epochs=3)
    task = load_task(config.data, data_dir=None, dtype=torch.float64)
    one = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
    several = BatchedTrainer(configs=[config] * 2, tasks=[task] * 2, modules=[one.module, one.module])
    losses = [float("nan"), 2.0, 1.0, float("nan"), 1.5]
    for epoch, loss in enumerate(losses, start=1):
        one._remember(epoch, {"validation_loss": loss})
        several._remember(epoch, [{"validation_loss": loss}, {"validation_loss": float("nan")}])
    assert one.best is not None
    assert (one.best["epoch"], one.best["score"]) == (3, (1.0,))
    # A network that only ever diverged still had a validation part: its reading is that of the first epoch.
    assert [several.chosen_epoch(i) for i in range(2)] == [3, 1]


def test_mixed_precision_trains(store: Store) -> None:
    config = small_config(train__dtype="float32", train__precision="bf16-mixed", train__epochs=10)
    result = run(config, store=store)
    history = [float(row["train_loss"]) for row in numbers(store.run(config))["rows"]]
    assert history[-1] < history[0]
    assert result["readings"]["paper"]["accuracy"] > 1 / 9 + 0.1


def test_schedules_move_the_learning_rate_as_they_say(store: Store) -> None:
    values = {"train__epochs": 5, "model__norm": "none", "model__norm_options": {}, "optim__lr": 0.01}
    expected = {
        "none": [0.01] * 5,
        "step": [0.01, 0.01, 0.001, 0.001, 0.0001],
        "cosine": [0.005 * (1 + math.cos(math.pi * k / 5)) for k in range(5)],
    }
    for name, rates in expected.items():
        config = small_config(**values, optim__schedule={"name": name, "step_size": 2})
        run(config, store=store)
        found = [float(row["lr"]) for row in numbers(store.run(config))["rows"]]
        assert found == pytest.approx(rates), name


def test_the_plateau_schedule_waits_for_the_loss_to_stand_still(store: Store) -> None:
    schedule = {"name": "plateau", "patience": 1, "gamma": 0.5}
    values = {"model__norm": "none", "model__norm_options": {}, "optim__lr": 0.1}
    config = small_config(**values, train__epochs=12, optim__schedule=schedule)
    run(config, store=store)
    rows = numbers(store.run(config))["rows"]
    rate, best, bad = 0.1, math.inf, 0
    for row in rows:
        assert float(row["lr"]) == pytest.approx(rate)
        loss = float(row["validation_loss"])
        bad = 0 if loss < best * (1 - 1e-4) else bad + 1
        best = min(best, loss)
        if bad > 1:
            rate, bad = rate / 2, 0
    assert float(rows[-1]["lr"]) < 0.1


def test_gradient_clipping_and_float32(store: Store) -> None:
    config = small_config(train__gradient_clip=1e-12, train__dtype="float32")
    run(config, store=store)
    weights = torch.load(store.run(config).model_file, weights_only=True)["last"]
    assert weights["head.weight"].dtype == torch.float32
    free = small_config(train__dtype="float32")
    run(free, store=store)
    assert not torch.equal(weights["head.weight"], torch.load(store.run(free).model_file)["last"]["head.weight"])


def test_tensorboard_scalars(store: Store) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = small_config()
    run(config, store=store, execution=Execution(tensorboard=True))
    events = EventAccumulator(str(store.run(config).path / "tensorboard"))
    events.Reload()
    assert [event.step for event in events.Scalars("train/loss")] == [1, 2, 3]
