"""The processes of the conversion: each reads a few files at a time and writes their rows."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread

import numpy as np

from .errors import CorruptDataError, DatasetError
from .skeleton import main_body, read_skeleton

__all__ = ["run"]

_CHUNK = 16

#: Rows, the number of frames written to each (0 where it failed), and why those failed.
_Result = tuple[np.ndarray, np.ndarray, dict[str, str]]


def run(
    source: Path, target: Path, names: list[str], todo: np.ndarray, workers: int, max_frames: int
) -> Iterator[_Result]:
    """Convert the files of the rows ``todo`` and yield what became of them, a chunk at a time."""
    chunks = [todo[start : start + _CHUNK] for start in range(0, len(todo), _CHUNK)]
    tasks = ((source, target, rows, [names[row] for row in rows], max_frames) for rows in chunks)
    if workers <= 1:
        yield from (_convert_chunk(*task) for task in tasks)
        return
    # A fork server and not a fork: the caller may hold threads and the weight of other libraries.
    context = multiprocessing.get_context("forkserver")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        running: set[Future[_Result]] = set()
        try:
            for task in tasks:
                running.add(pool.submit(_convert_chunk, *task))
                if len(running) >= 4 * workers:
                    finished, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in finished)
            yield from (future.result() for future in running)
        except BrokenProcessPool as error:
            raise DatasetError(
                f"a worker process ended before its work was done (was it killed, or out of memory?); what is done in "
                f"{target} is kept: run the same again, with fewer workers perhaps, and it resumes"
            ) from error


def _end_with_parent() -> None:
    """End this worker when the process that started it has gone: a killed conversion leaves nobody behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def _convert_chunk(source: Path, target: Path, rows: np.ndarray, names: list[str], max_frames: int) -> _Result:
    array: np.memmap = np.load(target / "signals.npy", mmap_mode="r", allow_pickle=False)
    lengths = np.zeros(len(rows), dtype=np.int32)
    problems: dict[str, str] = {}
    with (target / "signals.npy").open("r+b") as stream:
        for k, (row, name) in enumerate(zip(rows.tolist(), names, strict=True)):
            try:
                _, bodies = read_skeleton(source / name)
                joints = main_body(bodies).joints
                if len(joints) > max_frames:
                    raise CorruptDataError(f"{name}: {len(joints)} frames, more than max_frames={max_frames}")
            except CorruptDataError as error:
                problems[name] = str(error)
                continue
            stream.seek(array.offset + row * array.strides[0])
            stream.write(joints.astype("<f4").tobytes())
            lengths[k] = len(joints)
    # The stream is closed, so all of it was written: only now may the rows be called done.
    return rows, lengths, problems
