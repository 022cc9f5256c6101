"""What can go wrong with data, one class for each kind of answer a caller may give.

Every message names the file or the argument at fault and says what to do about it.
"""

from __future__ import annotations

__all__ = [
    "ChecksumError",
    "CorruptDataError",
    "DatasetError",
    "DownloadError",
    "MissingDataError",
    "MissingExtraError",
    "StorageError",
    "UnknownDatasetError",
]


class DatasetError(RuntimeError):
    """Base of all errors raised by :mod:`spdnorm.datasets`."""


class UnknownDatasetError(DatasetError, LookupError):
    """The name is in no registry; the message lists the names that are."""


class MissingDataError(DatasetError, FileNotFoundError):
    """A folder or a file of the data set is not there; the message says what to put where."""


class CorruptDataError(DatasetError, ValueError):
    """A file is there but cannot be what it says: truncated, wrong shape, non-finite, labels out of range."""


class ChecksumError(CorruptDataError):
    """A file's SHA-256 differs from the recorded one."""


class DownloadError(DatasetError, ConnectionError):
    """The source could not be reached or refused; nothing was left that passes for data."""


class StorageError(DatasetError, OSError):
    """The disk says no: no permission to write or to read, no space, or a file where a folder should be."""


class MissingExtraError(DatasetError, ImportError):
    """A package of an optional extra is absent; the message names the extra to install."""
