"""Many runs: each once, on an engine of the user's choice.

joblib is the engine's interface: processes of this machine by default, a Dask cluster with a scheduler's address.
A run that is done is read, one that was stopped continues from its checkpoint, one that fails leaves its traceback
and lets the others go on. Where a Dask worker dies, the scheduler gives its runs to another, which continue.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from joblib import Parallel, delayed, parallel_config

from ..datasets.extras import require
from .config import RunConfig
from .execution import Execution
from .grid_progress import grid_progress
from .run import run
from .store import Store

__all__ = ["Failure", "default_jobs", "run_grid"]

#: A worker that was given up for dead may still hold a run's lock for a while; the next one waits so long.
TAKEOVER_SECONDS = 600.0


@dataclass(frozen=True)
class Failure:
    """A run that raised."""

    hash: str
    message: str


def default_jobs() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_grid(
    configs: Sequence[RunConfig],
    *,
    store: Store,
    execution: Execution | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    title: str = "runs",
) -> list[Failure]:
    """Compute all runs, and return those that failed.

    Parameters
    ----------
    configs : sequence of RunConfig
        Equal ones are computed once.
    store : Store
        The results folder; with ``scheduler``, on a file system that all workers share.
    execution : Execution, optional
        How each run is computed.
    jobs : int, optional
        Processes on this machine; all processors where None. Ignored with ``scheduler``.
    scheduler : str, optional
        Address of a Dask scheduler, ``tcp://host:8786``. Start workers with ``--nthreads 1``: runs of one process
        take turns.
    title : str
        For the progress display.
    """
    execution = execution or Execution()
    unique = list({config.hash: config for config in configs}.values())
    todo = [config for config in unique if not store.run(config).done]
    quiet = replace(execution, progress="off", lock_timeout=max(execution.lock_timeout, TAKEOVER_SECONDS))
    tasks = [delayed(_task)(config, store, quiet) for config in todo]
    failures = []
    with grid_progress(todo, store=store, execution=execution, title=title, done=len(unique) - len(todo)) as progress:
        if not tasks:
            return []
        with _engine(jobs=jobs or default_jobs(), scheduler=scheduler, threads=execution.threads):
            for failure in Parallel(return_as="generator_unordered", pre_dispatch="all")(tasks):
                progress.finished_one(failed=failure is not None)
                if failure is not None:
                    failures.append(failure)
    order = {config.hash: position for position, config in enumerate(unique)}
    return sorted(failures, key=lambda failure: order[failure.hash])


def _task(config: RunConfig, store: Store, execution: Execution) -> Failure | None:
    try:
        run(config, store=store, execution=execution)
    except Exception as error:  # one failed run must not take the grid with it; its traceback is in its folder
        return Failure(config.hash, f"{type(error).__name__}: {error}")
    return None


@contextmanager
def _engine(*, jobs: int, scheduler: str | None, threads: int) -> Iterator[None]:
    if scheduler is not None:
        distributed = require("distributed", extra="experiments", purpose="a grid on a Dask cluster")
        client = distributed.Client(scheduler, timeout="30s")
        with client, parallel_config(backend="dask", wait_for_workers_timeout=60):
            yield
    elif jobs == 1:
        with parallel_config(backend="sequential", n_jobs=1):
            yield
    else:
        options: dict[str, Any] = {"inner_max_num_threads": threads}
        with parallel_config(backend="loky", n_jobs=jobs, **options):
            yield
