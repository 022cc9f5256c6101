"""Archives: unpacked whole or not at all, into their own folder and nowhere else."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
from pathlib import Path

from .cache import is_storage_error, locked, storage_errors
from .errors import CorruptDataError, DatasetError, MissingDataError, StorageError
from .files import files_below

__all__ = ["extract", "unpacked_files"]

_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz")


def unpacked_files(folder: Path, suffix: str) -> list[Path]:
    """Return the files of this suffix below ``folder``; where there are none, unpack the archives that lie in it.

    Each archive gets a folder of its name, which appears once all of it is there: what a killed process leaves
    is hidden, is no part of the data, and goes when the next one starts.
    """
    found = files_below(folder, suffix)
    archives = sorted(p for p in folder.iterdir() if p.name.lower().endswith(_SUFFIXES) and not p.name.startswith("."))
    targets = {archive: folder / _stem(archive.name) for archive in archives}
    # Files beside archives of which none has its folder were put there by hand; where one has, others may be waiting.
    if archives and (not found or any(target.exists() for target in targets.values())):
        for archive, target in targets.items():
            if not target.exists():
                with storage_errors(folder), locked(folder):
                    if not target.exists():  # another process may have unpacked it meanwhile
                        extract(archive, target)
        found = files_below(folder, suffix)
    if not found:
        raise MissingDataError(f"{folder} holds neither {suffix} files nor an archive of them")
    return found


def extract(archive: Path, target: Path) -> Path:
    """Unpack a ``.zip`` or ``.tar*`` file to the new folder ``target``; a member that would land elsewhere is an error.

    All names are checked before anything is written.
    """
    if target.exists():
        raise StorageError(f"{archive} unpacks to {target}, which exists: remove or rename one of them")
    staging = target.with_name(f".{target.name}.unpacking")
    with storage_errors(target):
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        try:
            if zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as content:
                    _check_names([member.filename for member in content.infolist()], staging, archive)
                    content.extractall(staging)
            elif tarfile.is_tarfile(archive):
                with tarfile.open(archive) as tar:
                    _check_names([member.name for member in tar.getmembers()], staging, archive)
                    # The data filter refuses links and devices that point outside.
                    tar.extractall(staging, filter="data")
            else:
                raise CorruptDataError(f"{archive} is not a .zip or .tar archive, or it is damaged")
            os.replace(staging, target)
        except Exception as error:
            # Damaged bytes make the readers raise whatever they lead to, a seek to nowhere included.
            if isinstance(error, DatasetError) or is_storage_error(error):
                raise
            raise CorruptDataError(f"{archive} cannot be unpacked, it is damaged or unsafe: {error}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return target


def _check_names(names: list[str], target: Path, archive: Path) -> None:
    root = target.resolve()
    for name in names:
        if not (root / name).resolve().is_relative_to(root):
            raise CorruptDataError(
                f"{archive}: the member {name!r} would be written outside its folder; nothing was unpacked"
            )


def _stem(name: str) -> str:
    suffix = max((suffix for suffix in _SUFFIXES if name.lower().endswith(suffix)), key=len)
    return name[: -len(suffix)] or "archive"
