"""The data sets by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from .cache import data_root
from .errors import UnknownDatasetError
from .types import MatrixDataset, SignalDataset

__all__ = ["DatasetInfo", "RemoteFile", "info", "load", "names", "register"]


@dataclass(frozen=True, kw_only=True)
class RemoteFile:
    """A file with a recorded hash, and where to download it from (empty: it has to be placed by hand).

    Examples
    --------
    >>> from spdnorm.datasets import info
    >>> info("mamem").files[0].name
    'U001.mat'
    """

    name: str
    sha256: str
    url: str = ""
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class DatasetInfo:
    """What the registry knows of a data set before any of it is read.

    Parameters
    ----------
    name, title : str
        Registry name (lower case, hyphens) and a human one.
    kind : "signals" or "matrices"
        What the loader returns.
    loader : callable ``loader(root: Path, **options)``
        Reads the data set under the data root.
    description, licence, citation, homepage : str
        For people.
    folder : str
        Folder under the data root; empty for what needs no files.
    files : sequence of RemoteFile
        Files that can be verified, and fetched where they have a URL.
    instructions : str
        What to put where when it cannot be fetched.
    prepare : callable ``prepare(root: Path, **options) -> Path``, optional
        A one-time conversion of the raw release; returns what it wrote.

    Examples
    --------
    >>> from spdnorm.datasets import info
    >>> info("basic-motions").kind
    'signals'
    """

    name: str
    title: str
    kind: Literal["signals", "matrices"]
    loader: Callable[..., SignalDataset | MatrixDataset]
    description: str
    licence: str
    citation: str
    homepage: str = ""
    folder: str = ""
    files: Sequence[RemoteFile] = field(default_factory=tuple)
    instructions: str = ""
    prepare: Callable[..., Path] | None = None

    @property
    def fetchable(self) -> bool:
        """Whether every recorded file has a URL."""
        return bool(self.files) and all(file.url for file in self.files)


_REGISTRY: dict[str, DatasetInfo] = {}
#: The modules that register this package's data sets, imported when the registry is first asked.
_MODULES = (
    "bundled",
    "cmu_mocap",
    "eeg_simulator",
    "hdm05",
    "hdm05_raw",
    "mamem",
    "mamem_raw",
    "ntu",
    "ssvep_exoskeleton",
    "synthetic",
)


def _known() -> dict[str, DatasetInfo]:
    for module in _MODULES:
        import_module(f"{__package__}.{module}")
    return _REGISTRY


def _key(name: str) -> str:
    return name.lower().replace("_", "-")


def register(entry: DatasetInfo) -> DatasetInfo:
    """Add a data set; names are unique, in lower case and with hyphens, as :func:`info` looks them up.

    Examples
    --------
    >>> from spdnorm.datasets import DatasetInfo, load, make_spd_classes, register
    >>> entry = DatasetInfo(
    ...     name="my-data",
    ...     title="Mine",
    ...     kind="matrices",
    ...     loader=lambda root=None, **options: make_spd_classes(n_samples=10, **options),
    ...     description="Ten matrices",
    ...     licence="mine",
    ...     citation="",
    ... )
    >>> register(entry) is entry
    True
    >>> load("my-data").x.shape
    (10, 8, 8)
    """
    if entry.name != _key(entry.name):
        raise ValueError(f"name={entry.name!r}: register it as {_key(entry.name)!r} (lower case, hyphens)")
    if entry.name in _REGISTRY:
        raise ValueError(f"a data set named {entry.name!r} is registered already")
    _REGISTRY[entry.name] = entry
    return entry


def names() -> list[str]:
    """Return the registered names, sorted.

    Examples
    --------
    >>> from spdnorm.datasets import names
    >>> {"mamem", "hdm05", "ntu", "basic-motions"} <= set(names())
    True
    """
    return sorted(_known())


def info(name: str) -> DatasetInfo:
    """Return the entry of a data set; ``moabb:NAME`` makes one for any MOABB data set.

    Examples
    --------
    >>> from spdnorm.datasets import info
    >>> info("japanese-vowels").title
    'JapaneseVowels'
    """
    if name.lower().startswith("moabb:"):
        from .moabb import moabb_info

        return moabb_info(name.partition(":")[2])
    key = _key(name)
    if key not in _known():
        close = get_close_matches(key, _REGISTRY, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownDatasetError(
            f"no data set is named {name!r}.{hint} Known: {', '.join(names())}; and moabb:NAME for any MOABB data set"
        )
    return _REGISTRY[key]


def load(name: str, data_dir: str | os.PathLike[str] | None = None, **options: Any) -> SignalDataset | MatrixDataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        A registry name (see :func:`names`), or ``moabb:NAME``.
    data_dir : path, optional
        Data root; defaults to ``SPDNORM_DATA``, then the user's cache directory.
    **options
        The loader's own keyword options.

    Examples
    --------
    >>> from spdnorm.datasets import load
    >>> load("basic-motions").x.shape
    (80, 6, 100)
    """
    entry = info(name)
    # What needs no files needs no data folder, nor the package that finds it.
    return entry.loader(data_root(data_dir) if entry.folder else Path(), **options)
