"""Read array files without pickle, and say which file is at fault when one cannot be read."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .errors import CorruptDataError, MissingDataError
from .extras import require

__all__ = ["read_mat", "read_npy", "read_npz", "require_files", "sha256_of"]


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


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
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError, zlib.error) as error:
        raise _unreadable(path, error) from error


def read_npy(path: Path) -> np.ndarray:
    """Read an ``.npy`` file."""
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise _unreadable(path, error) from error


def read_mat(path: Path, keys: Iterable[str]) -> dict[str, np.ndarray]:
    """Read variables of a MATLAB file (level 5, as ``scipy.io`` reads it)."""
    wanted = list(keys)
    scipy_io = require("scipy.io", extra="data", purpose="reading .mat files")
    try:
        content: dict[str, Any] = scipy_io.loadmat(path, variable_names=wanted)
    except Exception as error:  # a damaged file makes scipy raise whatever its bytes lead to
        raise _unreadable(path, error) from error
    absent = [key for key in wanted if key not in content]
    if absent:
        raise CorruptDataError(f"{path} lacks the variables {absent}")
    return {key: np.asarray(content[key]) for key in wanted}


def _unreadable(path: Path, error: Exception) -> CorruptDataError:
    reason = str(error) or type(error).__name__
    size = path.stat().st_size if path.exists() else 0
    return CorruptDataError(
        f"{path} ({size} bytes) cannot be read: it is truncated, corrupt or not what its name says "
        f"({reason}). Delete it and fetch or place it again"
    )
