"""Archives: unpacked into their target folder and nowhere else."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from .cache import storage_errors
from .errors import CorruptDataError, MissingDataError

__all__ = ["extract", "extract_all"]


def extract(archive: Path, target: Path) -> Path:
    """Unpack a ``.zip`` or ``.tar*`` file into ``target``; a member that would land elsewhere is an error.

    All names are checked before anything is written.
    """
    with storage_errors(target):
        target.mkdir(parents=True, exist_ok=True)
        try:
            if zipfile.is_zipfile(archive):
                _extract_zip(archive, target)
            elif tarfile.is_tarfile(archive):
                with tarfile.open(archive) as tar:
                    for member in tar.getmembers():
                        _inside(member.name, target, archive)
                    # The data filter refuses links and devices that point outside.
                    tar.extractall(target, filter="data")
            else:
                raise CorruptDataError(f"{archive} is not a .zip or .tar archive, or it is damaged")
        except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
            raise CorruptDataError(f"{archive} cannot be unpacked: {error}") from error
    return target


def extract_all(folder: Path, target: Path) -> list[Path]:
    """Unpack every archive that lies directly in ``folder``."""
    archives = sorted(
        path for path in folder.iterdir() if path.name.endswith((".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz"))
    )
    if not archives:
        raise MissingDataError(f"{folder} holds neither the files of the data set nor an archive of them")
    return [extract(archive, target) for archive in archives]


def _extract_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        for member in content.infolist():
            _inside(member.filename, target, archive)
        damaged = content.testzip()
        if damaged is not None:
            raise CorruptDataError(f"{archive}: the member {damaged!r} is damaged")
        content.extractall(target)


def _inside(name: str, target: Path, archive: Path) -> None:
    root = target.resolve()
    if not (root / name).resolve().is_relative_to(root):
        raise CorruptDataError(
            f"{archive}: the member {name!r} would be written outside {target}; nothing was unpacked"
        )
