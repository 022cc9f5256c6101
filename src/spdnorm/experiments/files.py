"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import DamagedFileError, FullDiskError

__all__ = ["atomic", "full_disk_errors", "read_json", "write_json", "write_text"]

_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

# mkstemp makes files private; results may be read by whoever the user's umask lets. Asking for it sets it, which
# is not safe once there are threads: so once, here.
_UMASK = os.umask(0)
os.umask(_UMASK)


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes its name only once all of it is on disk; the old one stays until then."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).chmod(0o666 & ~_UMASK)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    # The new name itself is on disk only once the folder is.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic(path) as stream:
        stream.write(text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON atomically."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON; what is not JSON is an error that names the file."""
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); remove it, and run the same command again") from None


@contextmanager
def full_disk_errors(folder: Path) -> Iterator[None]:
    """Say what to do where the disk is full."""
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        # torch.save tells of its own failure, which the system's error has led to.
        while cause is not None and not (isinstance(cause, OSError) and cause.errno in _NO_SPACE):
            cause = cause.__context__
        if cause is None:
            raise
        raise FullDiskError(
            f"no space left to write in {folder} ({cause}); free some and run the same command again: it continues "
            "from the last checkpoint"
        ) from error
