"""Where data lie, and how a file comes to lie there whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import DatasetError, MissingDataError, StorageError
from .extras import require

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "atomic_file",
    "data_root",
    "dataset_folder",
    "free_space",
    "is_storage_error",
    "locked",
    "storage_errors",
]

ENVIRONMENT_VARIABLE = "SPDNORM_DATA"

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_PERMISSION = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.EISDIR}


def data_root(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder under which every data set has its own folder.

    ``data_dir`` where given, else the environment variable ``SPDNORM_DATA``, else the user's cache directory.

    Examples
    --------
    >>> from spdnorm.datasets import data_root
    >>> data_root("somewhere").name
    'somewhere'
    """
    chosen = data_dir or os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    platformdirs = require("platformdirs", extra="data", purpose="the default data folder")
    return Path(platformdirs.user_cache_dir("spdnorm", appauthor=False)) / "data"


def dataset_folder(root: Path, folder: str, *, title: str, instructions: str) -> Path:
    """Return ``root/folder`` or say why it cannot be read from."""
    path = root / folder
    if path.is_dir():
        return path
    for file in (root, path):
        if file.exists() and not file.is_dir():
            raise MissingDataError(f"{title}: {file} is a file, expected a folder")
    if root.name == folder and root.is_dir():
        raise MissingDataError(
            f"{title}: there is no folder {path}; the data directory given is the data set's own folder: "
            f"give its parent, {root.parent}, instead"
        )
    missing = "the data directory" if not root.is_dir() else "the folder"
    wrong = root if not root.is_dir() else path
    raise MissingDataError(f"{title}: {missing} {wrong} does not exist. {instructions}")


def is_storage_error(error: BaseException) -> bool:
    """Return whether the system refused to write: no space, no permission, or something in the way."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE | _NO_PERMISSION


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn the system's errors of writing ``path`` into a :class:`StorageError` that says what to do."""
    try:
        yield
    except DatasetError:
        raise
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise StorageError(
                f"no space left to write {path} ({error.strerror}); free some, or choose another data "
                f"directory with --data-dir or {ENVIRONMENT_VARIABLE}"
            ) from error
        if error.errno in _NO_PERMISSION:
            raise StorageError(
                f"cannot write {path} ({error.strerror}); choose a data directory you may write to with "
                f"--data-dir or {ENVIRONMENT_VARIABLE}"
            ) from error
        raise


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file that takes its name only once all of it is written and on disk."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            # mkstemp makes files private; data may be read by whoever the user's umask lets.
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time fill a folder; the others wait and then find it filled."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def free_space(path: Path) -> int:
    """Return the bytes free on the file system that ``path`` is or will be on."""
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    status = os.statvfs(existing)
    return status.f_bavail * status.f_frsize
