"""Data sets: typed loaders, a registry, downloads, and the way from signals to SPD matrices."""

from . import bundled, cmu_mocap, eeg_simulator, mamem, ssvep_exoskeleton, synthetic
from .cache import data_root
from .covariance import covariance
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
from .registry import DatasetInfo, RemoteFile, info, load, names, register
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
    "bundled",
    "cmu_mocap",
    "covariance",
    "data_root",
    "eeg_simulator",
    "fetch",
    "info",
    "load",
    "make_spd_classes",
    "make_ssvep",
    "mamem",
    "names",
    "register",
    "ssvep_exoskeleton",
    "synthetic",
    "verify",
]
