"""The results folder: one folder for each run, named by its configuration's hash.

::

    RESULTS/runs/<hash>/config.json        the configuration, whole
                        environment.json   versions, commit, device, threads
                        metrics.csv        one row for each epoch
                        checkpoint.pt      to continue from; removed once the result is there
                        model.pt           weights of the chosen and of the last epoch
                        result.json        the row; its presence means the run is done
                        error.txt          the traceback of the last failure
    RESULTS/tables/<name>.json             which runs make up which table
    RESULTS/report/                        the tables, rendered

A file lock, which the operating system drops when its process dies however it dies, keeps two processes from
writing one run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .config import RunConfig, validate
from .errors import ExperimentError, RunLockedError
from .files import read_json, write_json

__all__ = ["RunFolder", "Store"]


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import RunFolder
    >>> RunFolder(Path("runs/none")).epochs_done()
    0
    """

    path: Path

    @property
    def config_file(self) -> Path:
        """The configuration."""
        return self.path / "config.json"

    @property
    def environment_file(self) -> Path:
        """Where the run was computed."""
        return self.path / "environment.json"

    @property
    def metrics_file(self) -> Path:
        """One row for each epoch."""
        return self.path / "metrics.csv"

    @property
    def checkpoint_file(self) -> Path:
        """What an unfinished run continues from."""
        return self.path / "checkpoint.pt"

    @property
    def model_file(self) -> Path:
        """Weights of the chosen and of the last epoch."""
        return self.path / "model.pt"

    @property
    def result_file(self) -> Path:
        """The row; there once the run is done."""
        return self.path / "result.json"

    @property
    def error_file(self) -> Path:
        """The last failure's traceback."""
        return self.path / "error.txt"

    @property
    def done(self) -> bool:
        """Whether the run has its result."""
        return self.result_file.is_file()

    def result(self) -> dict[str, Any]:
        """Return the row of a finished run."""
        return read_json(self.result_file)

    def config(self) -> RunConfig:
        """Return the configuration that the folder was made for."""
        return validate(RunConfig, read_json(self.config_file), where=str(self.config_file))

    def epochs_done(self) -> int:
        """Return how many epochs the metrics show: cheap, for progress displays."""
        try:
            with self.metrics_file.open("rb") as stream:
                return max(sum(1 for _ in stream) - 1, 0)
        except FileNotFoundError:
            return 0

    @contextmanager
    def locked(self, *, timeout: float = 0.0) -> Iterator[None]:
        """Hold the run for this process alone; wait up to ``timeout`` seconds for another that holds it."""
        self.path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path / ".lock")
        try:
            lock.acquire(timeout=timeout)
        except Timeout:
            raise RunLockedError(
                f"run {self.path.name} is being written by another process; wait for it, or give it time with "
                "lock_timeout"
            ) from None
        try:
            yield
        finally:
            lock.release()

    def sweep(self) -> None:
        """Remove half-written files of a process that was killed; for whoever holds the run."""
        for entry in self.path.glob(".*.part"):
            entry.unlink(missing_ok=True)


@dataclass(frozen=True)
class Store:
    """All runs under one folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Store, load_recipe
    >>> store = Store(Path("runs"))
    >>> store.run(load_recipe("demo").entries(quick=True)[0].config).done
    False
    """

    root: Path

    def run(self, config: RunConfig) -> RunFolder:
        """Return the folder of a configuration, whether or not it is there yet."""
        return self.by_hash(config.hash)

    def by_hash(self, name: str) -> RunFolder:
        """Return the folder of a run by its hash."""
        return RunFolder(self.root / "runs" / name)

    def prepare(self, config: RunConfig) -> RunFolder:
        """Make the folder of a run ready and record its configuration; a folder of another one is an error."""
        folder = self.run(config)
        folder.path.mkdir(parents=True, exist_ok=True)
        folder.sweep()
        if not folder.config_file.exists():
            write_json(folder.config_file, config.model_dump(mode="json"))
        elif folder.config() != config:
            raise ExperimentError(
                f"{folder.path} holds another configuration under the same name: it was edited by hand, or two "
                "configurations share a hash; remove the folder"
            )
        return folder

    @property
    def tables(self) -> Path:
        """Where the lists of runs that make up tables are."""
        return self.root / "tables"

    @property
    def report(self) -> Path:
        """Where reports go."""
        return self.root / "report"
