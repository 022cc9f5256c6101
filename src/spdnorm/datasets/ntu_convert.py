"""One-time conversion of ``.skeleton`` files to one memory-mapped array.

Streamed: a worker holds one file's text at a time (a few megabytes) and writes its row, and what is in flight is
bounded, so memory does not grow with the number of files. Resumable: row i belongs to file i, and ``status.npy`` says
which rows are done; a killed conversion continues where it was. The array's file is sparse: it takes the space of the
frames there are. Rows are written to the file and not through the map, because a full disk is then an error and not
a fatal signal.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .cache import atomic_file, free_space, locked, storage_errors
from .errors import CorruptDataError, MissingDataError, StorageError
from .extras import require
from .files import files_below
from .ntu_names import damaged_samples, parse_name
from .ntu_workers import run
from .skeleton import N_JOINTS

__all__ = [
    "DAMAGED",
    "DONE",
    "FAILED",
    "FAILURES",
    "MAX_FRAMES",
    "PENDING",
    "convert",
    "open_converted",
    "read_failures",
]

#: The longest recording of NTU RGB+D has 300 frames.
MAX_FRAMES = 300
PENDING, DONE, DAMAGED, FAILED = range(4)
#: The file that lists what could not be read.
FAILURES = "failures.json"
_N_CHANNELS = 3 * N_JOINTS
_AGAIN = "convert again with restart=True (`spdnorm data prepare ntu --restart`)"


def convert(
    source: Path,
    target: Path,
    *,
    workers: int = 2,
    max_frames: int = MAX_FRAMES,
    progress: bool = True,
    restart: bool = False,
) -> Path:
    """Convert every ``.skeleton`` file under ``source`` (searched recursively).

    Parameters
    ----------
    source : Path
        Folder of the unpacked release.
    target : Path
        Folder to write: ``signals.npy`` (N, max_frames, 75) float32, the main body's joints as x, y, z joint by
        joint; ``lengths.npy``; ``status.npy``; ``files.json``, and ``failures.json`` once all is done.
    workers : int
        Processes; 1 works in this one. A script that calls this with more needs the usual
        ``if __name__ == "__main__":``.
    max_frames : int
        Longer recordings are failures.
    progress : bool
        Show a bar (on a terminal).
    restart : bool
        Forget an unfinished conversion and begin again.

    Returns
    -------
    Path
        ``target``. Files that could not be read are listed with the reason in ``failures.json``.
    """
    names = _list_files(source)
    with storage_errors(target), ExitStack() as lock:
        target.mkdir(parents=True, exist_ok=True)
        lock.enter_context(locked(target))
        status = _prepare(source, target, names, max_frames, restart=restart)
        lengths = _load(target / "lengths.npy", (len(names),), mode="r+")
        _load(target / "signals.npy", (len(names), max_frames, _N_CHANNELS))
        todo = np.flatnonzero(np.isin(status, (PENDING, FAILED)))
        failures: dict[str, str] = {}
        tqdm = require("tqdm", extra="data", purpose="the progress bar")
        bar = tqdm.tqdm(
            total=len(names), initial=len(names) - len(todo), unit="file", disable=None if progress else True
        )
        with bar:
            for rows, found, problems in run(source, target, names, todo, workers, max_frames):
                lengths[rows] = found
                status[rows] = np.where(found > 0, DONE, FAILED)
                failures.update(problems)
                bar.update(len(rows))
        status.flush()
        with atomic_file(target / FAILURES) as stream:
            stream.write(json.dumps(failures, indent=1).encode())
    return target


def read_failures(target: Path) -> dict[str, str]:
    """Return the files that a finished conversion could not read, and why."""
    return dict(json.loads((target / FAILURES).read_text()))


def open_converted(target: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return ``(signals, lengths, names)`` of the samples that were converted; ``signals`` stays on disk.

    Returns a memory map (N, 75, max_frames) over all files, the lengths (0 for damaged or unreadable samples) and the
    names without suffix.
    """
    listing = target / "files.json"
    if not listing.is_file():
        raise MissingDataError(f"{target} holds no conversion; run `spdnorm data prepare ntu` first")
    names = _listed(listing)["files"]
    status = _load(target / "status.npy", (len(names),))
    if (status == PENDING).any():
        done = int((status != PENDING).sum())
        raise MissingDataError(
            f"the conversion in {target} is not finished ({done} of {len(names)} files); "
            "run `spdnorm data prepare ntu` again: it resumes"
        )
    signals = _load(target / "signals.npy", (len(names), None, _N_CHANNELS)).swapaxes(1, 2)
    lengths = np.where(status == DONE, _load(target / "lengths.npy", (len(names),)), 0)
    return signals, lengths, [Path(name).name.removesuffix(".skeleton") for name in names]


def _list_files(source: Path) -> list[str]:
    if not source.is_dir():
        raise MissingDataError(f"there is no folder {source} to take .skeleton files from")
    names = [str(path.relative_to(source)) for path in files_below(source, ".skeleton")]
    if not names:
        raise MissingDataError(f"{source} holds no .skeleton files")
    for name in names:
        parse_name(Path(name).name)
    return names


def _prepare(source: Path, target: Path, names: list[str], max_frames: int, *, restart: bool) -> np.memmap:
    listing = target / "files.json"
    description = {"files": names, "max_frames": max_frames}
    if listing.is_file() and not restart:
        if _listed(listing) != description:
            raise MissingDataError(
                f"{target} holds a conversion of other files (or with another max_frames); give another target, "
                "or restart=True (--restart) to replace it"
            )
        return _load(target / "status.npy", (len(names),), mode="r+")
    listing.unlink(missing_ok=True)
    (target / FAILURES).unlink(missing_ok=True)
    # A joint takes 12 bytes of the 70 to 110 that its line has.
    needed = sum((source / name).stat().st_size for name in names) // 6
    if free_space(target) < needed:
        raise StorageError(
            f"the conversion of {len(names)} files may need {needed / 1e9:.2g} GB and {target} has "
            f"{free_space(target) / 1e9:.2g} GB free; choose another target"
        )
    shape = (len(names), max_frames, _N_CHANNELS)
    np.lib.format.open_memmap(target / "signals.npy", mode="w+", dtype="<f4", shape=shape).flush()
    np.save(target / "lengths.npy", np.zeros(len(names), dtype=np.int32))
    np.save(target / "status.npy", np.zeros(len(names), dtype=np.uint8))
    status = _load(target / "status.npy", (len(names),), mode="r+")
    damaged = damaged_samples()
    status[:] = [DAMAGED if Path(name).stem in damaged else PENDING for name in names]
    with atomic_file(listing) as stream:
        stream.write(json.dumps(description).encode())
    return status


def _listed(listing: Path) -> dict[str, Any]:
    try:
        content = json.loads(listing.read_text())
        return {"files": list(content["files"]), "max_frames": content["max_frames"]}
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptDataError(f"{listing} cannot be read ({error}); {_AGAIN}") from error


def _load(path: Path, shape: tuple[int | None, ...], *, mode: Literal["r", "r+"] = "r") -> np.memmap:
    try:
        array = np.load(path, mmap_mode=mode, allow_pickle=False)
    except Exception as error:
        raise CorruptDataError(f"{path} cannot be read ({error}); {_AGAIN}") from error
    if len(array.shape) != len(shape) or any(w not in (None, h) for w, h in zip(shape, array.shape, strict=True)):
        raise CorruptDataError(f"{path} has shape {array.shape}, expected {shape}; {_AGAIN}")
    return array
