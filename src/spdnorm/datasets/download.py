"""Downloads: pooch checks the hash and renames; what is here resumes an interrupted transfer.

A file takes its final name only after its SHA-256 has matched. Until then it is in the hidden folder ``.NAME.part``
beside it, which no loader reads; a killed transfer leaves that, and the next one asks the server for the rest.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cache import locked, storage_errors
from .errors import ChecksumError, DownloadError, MissingDataError
from .extras import require
from .files import require_files, sha256_of

if TYPE_CHECKING:
    from .registry import DatasetInfo, RemoteFile

__all__ = ["fetch", "fetch_file", "verify"]

_BLOCK = 1 << 16
_PART = "part"
#: Seconds to wait for a connection, and for the next bytes.
_TIMEOUT = (10, 60)
_HEADERS = {"Accept-Encoding": "identity"}


def fetch(
    info: DatasetInfo,
    root: Path,
    *,
    only: Iterable[str] | None = None,
    progress: bool = True,
    offline: bool = False,
) -> list[Path]:
    """Bring a data set's files (or those named) under ``root`` and check them.

    What is there with the right hash is left alone; ``offline=True`` checks and downloads nothing.

    Examples
    --------
    >>> from spdnorm.datasets import DatasetError, fetch, info, data_root
    >>> try:
    ...     fetch(info("mamem"), data_root("no-such-folder"), offline=True)
    ... except DatasetError as error:
    ...     print(type(error).__name__)
    MissingDataError
    """
    wanted = set(only) if only is not None else {file.name for file in info.files}
    files = [file for file in info.files if file.name in wanted]
    folder = root / info.folder
    if offline:
        require_files(folder, [file.name for file in files], title=info.title, instructions=info.instructions)
        return [_check(folder / file.name, file) for file in files]
    by_hand = [file.name for file in files if not file.url and not (folder / file.name).is_file()]
    if by_hand or not info.files:
        shown = f" ({', '.join(by_hand)})" if by_hand else ""
        raise MissingDataError(f"{info.title} cannot be downloaded by this program{shown}. {info.instructions}")
    return [
        fetch_file(file, folder, progress=progress) if file.url else _check(folder / file.name, file) for file in files
    ]


def verify(info: DatasetInfo, root: Path) -> list[Path]:
    """Check that every recorded file is there and has its recorded hash.

    Examples
    --------
    >>> from spdnorm.datasets import DatasetError, data_root, info, verify
    >>> try:
    ...     verify(info("mamem"), data_root("no-such-folder"))
    ... except DatasetError as error:
    ...     print(type(error).__name__)
    MissingDataError
    """
    return fetch(info, root, offline=True)


def fetch_file(file: RemoteFile, folder: Path, *, progress: bool = True) -> Path:
    """Download one file into ``folder`` unless it is there with the right hash.

    Raises
    ------
    DownloadError
        No network, an HTTP error, or a transfer that stopped short (what came is kept for the next try).
    ChecksumError
        The whole file came and is not the one recorded; nothing of it is kept.
    StorageError
        The folder cannot be written, or is full.
    """
    target = folder / file.name
    with storage_errors(target):
        if target.is_file() and sha256_of(target) == file.sha256:
            return target  # nothing to write, so the folder may well be read-only
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            if target.is_file() and sha256_of(target) == file.sha256:
                return target  # another process fetched it while this one waited
            # All that a transfer writes is in here, pooch's temporary file included: nothing else can be left over.
            staging = folder / f".{file.name}.part"
            staging.mkdir(exist_ok=True)
            try:
                os.replace(_retrieve(file, staging, progress=progress), target)
            finally:
                if not any(staging.iterdir()):
                    staging.rmdir()
    return target


def _retrieve(file: RemoteFile, staging: Path, *, progress: bool) -> str:
    """Download to ``staging`` and return the file's path once its hash has matched."""
    pooch = require("pooch", extra="data", purpose="downloading")
    for left in staging.iterdir():
        if left.name not in (_PART, file.name):
            left.unlink()
    transfer = _ResumingTransfer(staging / _PART, progress=progress, label=file.name)
    while True:
        try:
            with _quiet(pooch.get_logger()):  # it would name the staging folder; the bar says what goes on
                return pooch.retrieve(
                    file.url, f"sha256:{file.sha256}", fname=file.name, path=staging, downloader=transfer
                )
        except ValueError as error:
            # Part of an older version may have been resumed: once more, from the start.
            if not transfer.resumed:
                raise ChecksumError(
                    f"{file.url}: what was downloaded does not have the recorded SHA-256 {file.sha256}; "
                    "nothing was kept. The source has changed or something on the way alters it"
                ) from error


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _check(path: Path, file: RemoteFile) -> Path:
    found = sha256_of(path)
    if found != file.sha256:
        raise ChecksumError(
            f"{path} has SHA-256 {found}, recorded is {file.sha256}: it is damaged or another version. "
            "Delete it and fetch or place it again"
        )
    return path


class _ResumingTransfer:
    """A pooch downloader that continues from ``part`` where the server allows ranges."""

    def __init__(self, part: Path, *, progress: bool, label: str) -> None:
        self.part = part
        self.label = label
        self.progress = progress
        self.resumed = False

    def __call__(self, url: str, output_file: str | os.PathLike[str], _pooch: Any) -> None:
        requests = require("requests", extra="data", purpose="downloading")
        try:
            self._transfer(url, requests)
        except requests.exceptions.RequestException as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            reason = f"HTTP {status}" if status else f"{type(error).__name__}: {_innermost(error)}"
            raise DownloadError(
                f"could not download {url} ({reason}); check the network or the address and try again: "
                "what has come is kept, and the transfer resumes"
            ) from error
        os.replace(self.part, output_file)

    def _transfer(self, url: str, requests: Any) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {**_HEADERS, "Range": f"bytes={have}-"} if have else _HEADERS
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            if have and response.status_code == requests.codes.requested_range_not_satisfiable:
                self.part.unlink()
                return self._transfer(url, requests)
            response.raise_for_status()
            self.resumed = have > 0 and response.status_code == requests.codes.partial_content
            if self.resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                self.part.unlink()
                return self._transfer(url, requests)
            start = have if self.resumed else 0
            length = response.headers.get("Content-Length")
            total = start + int(length) if length else None
            self._write(response, start, total)
        if total is not None and self.part.stat().st_size != total:
            got = self.part.stat().st_size
            raise DownloadError(f"{url}: the transfer stopped at {got} of {total} bytes; try again, it resumes")
        return None

    def _write(self, response: Any, start: int, total: int | None) -> None:
        tqdm = require("tqdm", extra="data", purpose="the progress bar")
        bar = tqdm.tqdm(
            total=total,
            initial=start,
            unit="B",
            unit_scale=True,
            desc=self.label,
            disable=None if self.progress else True,
        )
        with bar, self.part.open("ab" if start else "wb") as stream:
            for block in response.iter_content(_BLOCK):
                stream.write(block)
                bar.update(len(block))
            stream.flush()
            os.fsync(stream.fileno())


def _innermost(error: BaseException) -> BaseException:
    while error.__context__ is not None:
        error = error.__context__
    return error
