"""Data sets: typed loaders, a registry, downloads, and the way from signals to SPD matrices.

Names are imported on first use, so that a process that only converts files never loads torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .cache import data_root
    from .covariances import covariance
    from .download import fetch, verify
    from .eeg_simulator import make_ssvep
    from .errors import (
        ChecksumError,
        CorruptDataError,
        DatasetError,
        DownloadError,
        MissingDataError,
        MissingExtraError,
        StorageError,
        UnknownDatasetError,
    )
    from .filter_bank import filter_bank
    from .registry import DatasetInfo, RemoteFile, info, load, names, register
    from .report import composition, spectrum_report
    from .splits import group_split, random_half
    from .synthetic import make_spd_classes
    from .types import MatrixDataset, SignalDataset

__all__ = [
    "ChecksumError",
    "CorruptDataError",
    "DatasetError",
    "DatasetInfo",
    "DownloadError",
    "MatrixDataset",
    "MissingDataError",
    "MissingExtraError",
    "RemoteFile",
    "SignalDataset",
    "StorageError",
    "UnknownDatasetError",
    "composition",
    "covariance",
    "data_root",
    "fetch",
    "filter_bank",
    "group_split",
    "info",
    "load",
    "make_spd_classes",
    "make_ssvep",
    "names",
    "random_half",
    "register",
    "spectrum_report",
    "verify",
]

_HOME = {
    name: module
    for module, names_ in {
        "cache": ("data_root",),
        "covariances": ("covariance",),
        "download": ("fetch", "verify"),
        "eeg_simulator": ("make_ssvep",),
        "errors": tuple(name for name in __all__ if name.endswith("Error")),
        "filter_bank": ("filter_bank",),
        "registry": ("DatasetInfo", "RemoteFile", "info", "load", "names", "register"),
        "report": ("composition", "spectrum_report"),
        "splits": ("group_split", "random_half"),
        "synthetic": ("make_spd_classes",),
        "types": ("MatrixDataset", "SignalDataset"),
    }.items()
    for name in names_
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
