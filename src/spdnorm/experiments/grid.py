"""Many runs: each once, on an engine of the user's choice.

joblib is the engine's interface: processes of this machine by default, a Dask cluster with a scheduler's address.
A run that is done is read, one that was stopped continues from its checkpoint, one that fails leaves its traceback
and lets the others go on. Where a Dask worker dies, the scheduler gives its runs to another, which continue; where
a process of this machine dies, the grid ends with an error and the same call continues it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError

from ..datasets.extras import require
from .batched import batches, run_batch
from .config import RunConfig
from .errors import ExperimentError
from .execution import Execution
from .grid_progress import grid_progress
from .run import run
from .store import Store

__all__ = ["Failure", "default_jobs", "run_grid"]

#: A worker that was given up for dead may still hold a run's lock for a while; the next one waits so long.
TAKEOVER_SECONDS = 600.0
#: To find a scheduler.
CONNECT_SECONDS = 30
#: For the first worker to be there.
WORKERS_SECONDS = 60
#: Networks in one batched program.
MOST_TOGETHER = 16


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
    batched: bool = False,
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
    batched : bool
        Train runs that differ in seed and data alone as batched programs; see :mod:`.batched`. What cannot be
        trained so is computed one by one.
    title : str
        For the progress display.
    """
    execution = execution or Execution()
    unique = list({config.hash: config for config in configs}.values())
    todo = [config for config in unique if not store.run(config).done]
    if not todo:
        return []
    jobs = jobs or default_jobs()
    quiet = replace(execution, progress="off", lock_timeout=max(execution.lock_timeout, TAKEOVER_SECONDS))
    failures = []
    done = len(unique) - len(todo)
    with (
        grid_progress(todo, store=store, execution=execution, title=title, done=done) as progress,
        _engine(jobs=jobs, scheduler=scheduler, threads=execution.threads),
    ):
        if batched:
            # As many programs as processes at least, so that none is idle.
            size = min(MOST_TOGETHER, -(-len(todo) // jobs)) if scheduler is None else MOST_TOGETHER
            for count in _results(delayed(_batch)(b, store, quiet) for b in batches(todo, store=store, size=size)):
                progress.finished(count)
            todo = [config for config in todo if not store.run(config).done]
        for failure in _results(delayed(_task)(config, store, quiet) for config in todo):
            progress.finished(1, failed=failure is not None)
            if failure is not None:
                failures.append(failure)
    order = {config.hash: position for position, config in enumerate(unique)}
    return sorted(failures, key=lambda failure: order[failure.hash])


def _results(tasks: Iterable[Any]) -> Iterator[Any]:
    try:
        yield from Parallel(return_as="generator_unordered", pre_dispatch="all")(tasks)
    except TerminatedWorkerError:
        raise ExperimentError(
            "a process was killed from outside, mostly for want of memory; what is done is kept: run the same command "
            "again, with a smaller --jobs if memory is short"
        ) from None


def _task(config: RunConfig, store: Store, execution: Execution) -> Failure | None:
    try:
        run(config, store=store, execution=execution)
    except Exception as error:  # one failed run must not take the grid with it; its traceback is in its folder
        return Failure(config.hash, f"{type(error).__name__}: {error}")
    return None


def _batch(configs: list[RunConfig], store: Store, execution: Execution) -> int:
    # Whatever keeps them from being one program, one by one they run, or say themselves why not.
    with suppress(Exception):
        run_batch(configs, store=store, execution=execution)
        return len(configs)
    return 0


@contextmanager
def _engine(*, jobs: int, scheduler: str | None, threads: int) -> Iterator[None]:
    if scheduler is not None:
        distributed = require("distributed", extra="experiments", purpose="a grid on a Dask cluster")
        try:
            client = distributed.Client(scheduler, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise ExperimentError(
                f"no Dask scheduler answers at {scheduler} ({error}); start one: dask scheduler"
            ) from None
        try:
            with client, parallel_config(backend="dask", wait_for_workers_timeout=WORKERS_SECONDS):
                yield
        except TimeoutError:
            raise ExperimentError(
                f"the Dask scheduler at {scheduler} has no workers; start some: dask worker {scheduler} --nthreads 1"
            ) from None
        except distributed.KilledWorker as error:
            raise ExperimentError(
                f"a run took several Dask workers with it, mostly for want of memory: {error}"
            ) from None
    elif jobs == 1:
        with parallel_config(backend="sequential", n_jobs=1):
            yield
    else:
        options: dict[str, Any] = {"inner_max_num_threads": threads}
        with parallel_config(backend="loky", n_jobs=jobs, **options):
            yield
