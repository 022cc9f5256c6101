"""Processes that die at the worst moments, and folders that are not as they were left."""

from __future__ import annotations

import os
import random
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from experiment_helpers import small_config
from test_runs import assert_same_bits, kill_at, numbers

from spdnorm.experiments import CheckpointError, ExperimentError, RunConfig, RunFolder, Store
from spdnorm.experiments.checkpoint import load_checkpoint
from spdnorm.experiments.errors import DamagedFileError
from spdnorm.experiments.grid import run_grid
from spdnorm.experiments.run import run

#: What makes files durable, visible, or not there.
CALLS = ("fsync", "replace", "unlink")


def dies(action: Callable[[], Any], *, at: int) -> bool:
    """Run ``action`` in a copy of this process that is gone, as by SIGKILL, at its n-th call of :data:`CALLS`."""
    child = os.fork()
    if child == 0:
        seen = 0

        def mined(call: Callable[..., Any]) -> Callable[..., Any]:
            def instead(*arguments: Any, **options: Any) -> Any:
                nonlocal seen
                seen += 1
                if seen == at:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*arguments, **options)

            return instead

        try:
            for name in CALLS:
                setattr(os, name, mined(getattr(os, name)))
            action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), f"ended with status {status}"
    return status == signal.SIGKILL


def test_killed_at_every_write_and_continued_ends_in_the_same_bits(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    if torch.cuda.is_initialized():
        pytest.skip("a process that has used CUDA cannot be copied")
    config = small_config(train__epochs=2, model__norm="none", model__norm_options={})
    whole = Store(tmp_path / "whole")
    run(config, store=whole)
    expected = numbers(whole.run(config))
    moment = 0
    while True:
        moment += 1
        store = Store(tmp_path / str(moment))
        killed = dies(lambda store=store: run(config, store=store), at=moment)  # type: ignore[misc]
        run(config, store=store)
        assert_same_bits(expected, numbers(store.run(config)))
        left = {entry.name for entry in store.run(config).path.iterdir()}
        assert left - {"checkpoint.pt"} == {
            ".lock", "config.json", "environment.json", "metrics.csv", "model.pt", "result.json"
        }  # fmt: skip
        if not killed:
            break
    # Two epochs: at least configuration, environment, metrics, two checkpoints, weights and result were written.
    assert moment > 7 * 3
    record_property("kills", moment - 1)


#: Kills of the slow test, each at a random moment of a process that has continued from the one before.
KILLS = 25


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_killed_at_many_moments_and_continued_ends_in_the_same_bits(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    values = {"train__epochs": 4 * KILLS, "optim__schedule.name": "cosine"}
    config, draw = small_config(**values), random.Random(0)
    whole, broken = Store(tmp_path / "whole"), Store(tmp_path / "broken")
    run(config, store=whole)
    folder, reached = broken.run(config), []
    for _ in range(KILLS):
        # In the first epoch after the start, or in the second, and anywhere within it.
        start = folder.epochs_done()
        kill_at(broken.root, config, values, epoch=start + draw.randint(1, 2), delay=draw.uniform(0.0, 0.03))
        assert not folder.done, "the run is too short for so many kills"
        reached.append(folder.epochs_done())
    assert reached == sorted(reached)
    run(config, store=broken)
    assert_same_bits(numbers(whole.run(config)), numbers(broken.run(config)))
    record_property("kills", len(reached))


def fills_up(config: RunConfig, store: Store, *, after: int) -> str:
    """Run in a copy of this process whose files may not grow to a checkpoint's size after some epoch; what it says."""
    said = store.root / "said"
    child = os.fork()
    if child == 0:

        def limit(folder: RunFolder, row: dict[str, float]) -> None:
            if row["epoch"] == after:
                # The kernel then refuses a write in the middle, as a full disk does.
                size = folder.checkpoint_file.stat().st_size // 2
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        try:
            run(config, store=store, on_epoch=limit)
        except ExperimentError as error:
            said.write_text(f"{type(error).__name__}: {error}")
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return said.read_text()


def test_a_full_disk_leaves_the_checkpoint_before_which_continues_to_the_same_bits(tmp_path: Path) -> None:
    if torch.cuda.is_initialized():
        pytest.skip("a process that has used CUDA cannot be copied")
    config, store, whole = small_config(train__epochs=5), Store(tmp_path / "full"), Store(tmp_path / "whole")
    store.root.mkdir()
    said = fills_up(config, store, after=3)
    assert said.startswith("FullDiskError: no space left to write in")
    assert "free some and run the same command again" in said
    folder = store.run(config)
    state = load_checkpoint(folder.checkpoint_file, config_hash=config.hash)
    assert state is not None
    assert len(state["history"]) == 3
    assert not [entry for entry in folder.path.iterdir() if entry.name.endswith(".part")]
    run(config, store=store)
    run(config, store=whole)
    assert_same_bits(numbers(whole.run(config)), numbers(folder))


def damaged(folder: Path, draw: random.Random) -> None:
    content = bytearray(folder.read_bytes())
    if draw.random() < 0.5:
        content = content[: draw.randrange(len(content))]
    else:
        for _ in range(20):
            content[draw.randrange(len(content))] = draw.randrange(256)
    folder.write_bytes(bytes(content))


def refusal(file: Path, config: RunConfig) -> str:
    try:
        load_checkpoint(file, config_hash=config.hash)
    except CheckpointError as error:
        return str(error)
    return ""


def stop(*_: object) -> None:
    raise InterruptedError


def test_a_damaged_checkpoint_never_goes_unnoticed_as_another_error(store: Store) -> None:
    config, draw = small_config(train__epochs=2), random.Random(0)
    with pytest.raises(InterruptedError):
        run(config, store=store, on_epoch=stop)
    file = store.run(config).checkpoint_file
    good, said = file.read_bytes(), []
    for _ in range(60):
        file.write_bytes(good)
        damaged(file, draw)
        said.append(refusal(file, config))
    assert all("remove it to start the run over" in text for text in said if text)
    # Archives carry checksums; what slips through sits in their unused bytes.
    assert sum(map(bool, said)) > 50


@pytest.mark.parametrize("name", ["config.json", "result.json"])
def test_damaged_json_is_named(store: Store, name: str) -> None:
    config = small_config(train__epochs=1)
    run(config, store=store)
    file = store.run(config).path / name
    file.write_bytes(file.read_bytes()[:20])
    if name == "config.json":
        store.run(config).result_file.unlink()
    with pytest.raises(DamagedFileError, match=rf"{name} cannot be read .*remove it"):
        run(config, store=store)
    file.unlink()
    run(config, store=store)


def test_a_folder_of_another_configuration_is_refused(store: Store) -> None:
    config, other = small_config(), small_config(seed=1)
    store.prepare(other)
    folder = store.run(config).path
    folder.mkdir(parents=True)
    (folder / "config.json").write_bytes(store.run(other).config_file.read_bytes())
    with pytest.raises(ExperimentError, match="another configuration under the same name"):
        run(config, store=store)


def kill_a_worker(store: Store, configs: list[RunConfig]) -> None:
    end = time.monotonic() + 120
    while not any(store.run(config).epochs_done() for config in configs) and time.monotonic() < end:
        time.sleep(0.01)
    workers = [child for child in psutil.Process().children() if any("LokyProcess" in a for a in child.cmdline())]
    workers[0].kill()


def test_a_killed_local_process_is_told_and_the_next_call_continues(store: Store) -> None:
    configs = [small_config(seed=seed, train__epochs=6) for seed in range(2)]
    killer = threading.Thread(target=kill_a_worker, args=(store, configs))
    killer.start()
    with pytest.raises(ExperimentError, match="run the same command again, with a smaller --jobs"):
        run_grid(configs, store=store, jobs=2)
    killer.join()
    assert run_grid(configs, store=store, jobs=2) == []
    assert all(store.run(config).done for config in configs)
