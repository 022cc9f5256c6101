"""Many runs: on processes of this machine, and on a Dask cluster that loses a worker in the middle."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from experiment_helpers import small_config
from test_runs import assert_same_bits, numbers

from spdnorm.experiments import Execution, ExperimentError, RunConfig, Store
from spdnorm.experiments.grid import run_grid
from spdnorm.experiments.run import run


def test_local_processes_compute_what_one_process_computes(tmp_path: Path) -> None:
    configs = [small_config(seed=seed) for seed in range(3)]
    alone, grid = Store(tmp_path / "alone"), Store(tmp_path / "grid")
    for config in configs:
        run(config, store=alone)
    assert run_grid([*configs, configs[0]], store=grid, jobs=2) == []
    for config in configs:
        assert_same_bits(numbers(alone.run(config)), numbers(grid.run(config)))
    stamp = [grid.run(config).result_file.stat().st_mtime_ns for config in configs]
    assert run_grid(configs, store=grid, jobs=2) == []
    assert [grid.run(config).result_file.stat().st_mtime_ns for config in configs] == stamp


def test_a_failing_run_leaves_the_others_alone(store: Store) -> None:
    bad = small_config(model__options={"hidden": [99]})
    good = small_config()
    (failure,) = run_grid([bad, good], store=store, jobs=1)
    assert failure.hash == bad.hash
    assert "99" in failure.message
    assert "Traceback" in store.run(bad).error_file.read_text()
    assert store.run(good).done


def test_progress_shows_epochs_and_is_quiet_by_default(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    run_grid([small_config()], store=store, jobs=1)
    assert capfd.readouterr().err == ""
    run_grid([small_config(seed=1)], store=store, jobs=1, execution=Execution(progress="on"), title="the grid")
    said = capfd.readouterr().err
    assert "the grid" in said
    assert "1/1 runs" in said


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def dask(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers of one thread each, without nannies: a killed one stays away."""
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = dask("scheduler", "--host", address, "--no-dashboard")
    workers = [
        dask(
            "worker",
            address,
            "--nthreads=1",
            "--no-nanny",
            "--no-dashboard",
            f"--local-directory={tmp_path / name}",
            f"--name={name}",
        )
        for name in ("left", "right")
    ]
    try:
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def test_a_scheduler_without_workers_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spdnorm.experiments.grid.WORKERS_SECONDS", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = dask("scheduler", "--host", address, "--no-dashboard")
    try:
        with pytest.raises(ExperimentError, match="has no workers; start some: dask worker tcp"):
            run_grid([small_config()], store=store, scheduler=address)
    finally:
        scheduler.kill()
        scheduler.wait()


def lose_a_worker(
    store: Store, configs: list[RunConfig], workers: list[subprocess.Popen[bytes]], seen: list[RunConfig]
) -> None:
    """Kill one worker once both are in the middle of a run."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        working = [config for config in configs if 2 <= store.run(config).epochs_done() < config.train.epochs]
        if len(working) >= 2:
            seen += working
            workers[0].send_signal(signal.SIGKILL)
            return
        time.sleep(0.01)


def test_dask_grid_survives_the_loss_of_a_worker(
    tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    configs = [small_config(seed=seed, train__epochs=25) for seed in range(3)]
    store = Store(tmp_path / "results")
    seen: list[RunConfig] = []
    killer = threading.Thread(target=lose_a_worker, args=(store, configs, workers, seen))
    killer.start()
    failures = run_grid(configs, store=store, scheduler=address)
    killer.join()
    assert seen, "the grid ended before a worker could be killed"
    assert workers[0].wait() == -signal.SIGKILL
    assert workers[1].poll() is None
    assert failures == []
    assert all(store.run(config).done for config in configs)
    # One of these two was taken over in its middle.
    alone = Store(tmp_path / "alone")
    for config in seen:
        run(config, store=alone)
        assert_same_bits(numbers(alone.run(config)), numbers(store.run(config)))
