"""What can go wrong with experiments; every message says what to do."""

from __future__ import annotations

__all__ = [
    "CheckpointError",
    "ConfigError",
    "DamagedFileError",
    "ExperimentError",
    "FullDiskError",
    "RunLockedError",
]


class ExperimentError(RuntimeError):
    """Base of all errors raised by :mod:`spdnorm.experiments`."""


class ConfigError(ExperimentError, ValueError):
    """A configuration, a recipe or a ``--set`` does not fit; the message names the key."""


class CheckpointError(ExperimentError):
    """A checkpoint cannot be continued from."""


class DamagedFileError(ExperimentError):
    """A file of the results folder cannot be read."""


class FullDiskError(ExperimentError):
    """There was no space left for a file of the results folder; what was there before is as it was."""


class RunLockedError(ExperimentError):
    """Another process is writing this run."""
