"""Weights of a network after chosen epochs of its training, for pictures of how it came about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..experiments import RunFolder
from ..experiments.checkpoint import load_checkpoint, save_checkpoint
from ..experiments.trainer import Trainer

__all__ = ["SnapshotLog", "load_snapshot", "snapshot_epochs"]

_FOLDER = "snapshots"


class SnapshotLog:
    """Keeps the weights after some epochs in a run's folder: ``run(config, store=store, logs=[SnapshotLog])``.

    Parameters
    ----------
    folder, trainer
        As :func:`spdnorm.experiments.run.run` hands them to its logs.
    count : int
        How many: epoch 1, the last, and between them about evenly on a logarithmic scale, since most happens early.
    """

    def __init__(self, folder: RunFolder, trainer: Trainer, *, count: int = 24) -> None:
        self.folder = folder.path / _FOLDER
        self.folder.mkdir(parents=True, exist_ok=True)
        self.trainer = trainer
        self.epochs = set(_spread(trainer.config.train.epochs, count))

    def write(self, row: Mapping[str, float]) -> None:
        """Keep the weights where this epoch is a chosen one."""
        epoch = int(row["epoch"])
        if epoch in self.epochs:
            state = {"epoch": epoch, "model": self.trainer.module.state_dict()}
            save_checkpoint(_file(self.folder, epoch), state, config_hash=self.trainer.config.hash)

    def close(self) -> None:
        """Nothing is held open."""


def snapshot_epochs(folder: RunFolder) -> list[int]:
    """Return the epochs whose weights a run has kept, in order."""
    return sorted(int(path.stem) for path in (folder.path / _FOLDER).glob("*.pt"))


def load_snapshot(folder: RunFolder, epoch: int, *, config_hash: str) -> dict[str, Any]:
    """Return the weights after an epoch."""
    state = load_checkpoint(_file(folder.path / _FOLDER, epoch), config_hash=config_hash)
    if state is None:
        raise FileNotFoundError(f"{folder.path} keeps no weights of epoch {epoch}; it has {snapshot_epochs(folder)}")
    return state["model"]


def _file(folder: Path, epoch: int) -> Path:
    return folder / f"{epoch:05d}.pt"


def _spread(last: int, count: int) -> list[int]:
    steps = (last ** (i / max(count - 1, 1)) for i in range(count))
    return sorted({round(step) for step in steps} | {1, last})
