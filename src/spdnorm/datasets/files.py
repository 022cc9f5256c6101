"""Read array files without pickle, and say which file is at fault when one cannot be read.

Damaged bytes make numpy, zipfile and scipy raise whatever they lead to (a ``tokenize.TokenError``, an ``IndexError``),
so every exception of theirs counts as damage.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .errors import CorruptDataError, MissingDataError, StorageError
from .extras import require

__all__ = ["files_below", "read_mat", "read_npy", "read_npz", "require_files", "sha256_of"]


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except PermissionError as error:
        raise _forbidden(path) from error


def files_below(folder: Path, suffix: str) -> list[Path]:
    """Return all files of this suffix (in any case) below a folder, sorted.

    Hidden ones are left out: unfinished work of this package, and the ``._`` doubles that a Mac puts into archives.
    """
    found: list[Path] = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(here, name) for name in names if name.lower().endswith(suffix) and not name.startswith(".")]
    return sorted(found)


def require_files(folder: Path, names: Iterable[str], *, title: str, instructions: str) -> list[Path]:
    """Return the paths of ``names`` under ``folder``, or say which are missing."""
    paths = [folder / name for name in names]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        shown = ", ".join(missing[:12]) + (f" and {len(missing) - 12} more" if len(missing) > 12 else "")
        raise MissingDataError(
            f"{title}: {len(missing)} of {len(paths)} files are missing from {folder}: {shown}. {instructions}"
        )
    return paths


def read_npz(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    """Read arrays of an ``.npz`` file."""
    wanted = list(keys)
    try:
        with np.load(path, allow_pickle=False) as archive:
            absent = sorted(set(wanted) - set(archive.files))
            if absent:
                raise CorruptDataError(f"{path} lacks the arrays {absent}; it has {sorted(archive.files)}")
            return {key: archive[key] for key in wanted}
    except CorruptDataError:
        raise
    except Exception as error:
        raise _unreadable(path, error) from error


def read_npy(path: Path) -> np.ndarray:
    """Read an ``.npy`` file."""
    try:
        return np.load(path, allow_pickle=False)
    except Exception as error:
        raise _unreadable(path, error) from error


def read_mat(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    """Read variables of a MATLAB file (level 5, as ``scipy.io`` reads it)."""
    wanted = list(keys)
    scipy_io = require("scipy.io", extra="data", purpose="reading .mat files")
    try:
        content: dict[str, Any] = scipy_io.loadmat(path, variable_names=wanted)
    except Exception as error:
        raise _unreadable(path, error) from error
    absent = [key for key in wanted if key not in content]
    if absent:
        raise CorruptDataError(f"{path} lacks the variables {absent}")
    return {key: np.asarray(content[key]) for key in wanted}


def _forbidden(path: Path) -> StorageError:
    return StorageError(f"{path} may not be read by this user (permission denied)")


def _unreadable(path: Path, error: Exception) -> CorruptDataError | StorageError:
    if isinstance(error, PermissionError):
        return _forbidden(path)
    reason = str(error) or type(error).__name__
    size = path.stat().st_size if path.exists() else 0
    return CorruptDataError(
        f"{path} ({size} bytes) cannot be read: it is truncated, corrupt or not what its name says "
        f"({reason}). Delete it and fetch or place it again"
    )
