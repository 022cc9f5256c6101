"""Trained networks for figures: from a run's folder, or trained here with the paper's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from ..datasets.types import SignalDataset
from ..experiments import Execution, RunConfig, RunFolder, Store, load_recipe
from ..experiments.building import PRECISIONS, make_model
from ..experiments.checkpoint import load_checkpoint
from ..experiments.condition_log import CONDITIONS_FILE, ConditionLog
from ..experiments.data import Part, TaskData, load_dataset, load_task
from ..experiments.run import LogFactory, run
from .errors import FigureError
from .snapshots import SnapshotLog, load_snapshot, snapshot_epochs

__all__ = ["NORM_LABELS", "TrainedRun", "figure_config", "open_run", "train_run"]

PartName = Literal["train", "validation", "test", "all"]

#: Normalisation by name -> what the paper calls it.
NORM_LABELS = {
    "none": "",
    "gbw": "GBWBN",
    "bw": "BWBN",
    "spd": "BN(m)",
    "spdm": "BN(m+v)",
    "manifold": "ManifoldNorm",
    "lie": "LieBN",
}

#: Networks whose features are SPD matrices, with a place for a normalisation, and what the paper calls them.
_WITH_MATRICES = {"spdnet": "SPDNet", "rresnet": "RResNet", "eegspdnet": "SPDNet"}


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A run that is done, and the data it was trained on: what :func:`open_run` and :func:`train_run` return.

    Examples
    --------
    >>> from spdnorm.experiments import load_recipe
    >>> config = load_recipe("demo").entries(quick=True)[0].config
    >>> run = train_run(config, store=Store(Path("runs")), execution=Execution())
    >>> run.label, run.epochs, run.model(epoch=1).training
    ('SPDNet', [1, 2], False)
    """

    folder: RunFolder
    config: RunConfig
    task: TaskData
    class_names: tuple[str, ...]
    channel_names: tuple[str, ...]
    sampling_rate: float

    @property
    def label(self) -> str:
        """The network and its normalisation, for legends and titles."""
        model = self.config.model
        return f"{_WITH_MATRICES.get(model.name, model.name)}-{self.norm_label}".rstrip("-")

    @property
    def norm_label(self) -> str:
        """The normalisation alone; empty where there is none."""
        return NORM_LABELS.get(self.config.model.norm, self.config.model.norm)

    @property
    def epochs(self) -> list[int]:
        """Epochs whose weights are kept."""
        return snapshot_epochs(self.folder)

    @property
    def conditions_file(self) -> Path:
        """The recorded condition numbers, where they were recorded."""
        return self.folder.path / CONDITIONS_FILE

    def times(self) -> np.ndarray:
        """Return the seconds of a signal's samples, (T,)."""
        self._need_signals()
        return np.arange(self.task.sample_shape[-1]) / self.sampling_rate

    def part(self, name: PartName) -> Part:
        """Return a part of the data, or all of it."""
        if name != "all":
            chosen: Part | None = getattr(self.task, name)
            if chosen is None:
                raise FigureError(f"the data of {self.folder.path} have no {name} part; choose train, test or all")
            return chosen
        present = [part for part in (self.task.train, self.task.validation, self.task.test) if part is not None]
        return Part(torch.cat([part.x for part in present]), torch.cat([part.y for part in present]))

    def model(self, epoch: int | Literal["last"] | None = None) -> nn.Module:
        """Return the network in evaluation mode: the chosen one (least validation loss), or after an epoch."""
        if isinstance(epoch, int):
            state = load_snapshot(self.folder, epoch, config_hash=self.config.hash)
        else:
            found = load_checkpoint(self.folder.model_file, config_hash=self.config.hash)
            if found is None:
                raise FigureError(f"{self.folder.path} has no model.pt: the run is not done; continue it first")
            state = found["selected" if epoch is None else "last"]
        model = make_model(self.config.model, self.task, dtype=self.config.train.dtype)
        model.load_state_dict(state)
        return model.eval()

    def need_epochs(self, count: int) -> list[int]:
        """Return ``count`` of the kept epochs, spread over all of them, or say how to get some."""
        epochs = self.epochs
        if len(epochs) < 2:
            raise FigureError(
                f"{self.folder.path} keeps no weights of epochs on the way (a run of `spdnorm train` does not); "
                "leave --run out, and the network is trained here with them"
            )
        picked = np.linspace(0, len(epochs) - 1, min(count, len(epochs))).round().astype(int)
        return [epochs[i] for i in picked]

    def _need_signals(self) -> None:
        if not self.task.holds_signals:
            raise FigureError(
                f"{self.config.data.name!r} holds matrices: responses over channels and time need a network on "
                "signals, such as eegspdnet on mamem"
            )


def open_run(path: Path, *, data_dir: str | None) -> TrainedRun:
    """Read a run's folder, ``RESULTS/runs/<hash>``, and load the data that it names.

    Examples
    --------
    >>> from spdnorm.experiments import load_recipe
    >>> config, store = load_recipe("demo").entries(quick=True)[0].config, Store(Path("runs"))
    >>> _ = train_run(config, store=store, execution=Execution())
    >>> open_run(store.run(config).path, data_dir=None).class_names[:2]
    ('speaker 1', 'speaker 2')
    """
    folder = RunFolder(path)
    if not folder.config_file.is_file():
        raise FigureError(f"{path} is no run's folder (it has no config.json); give RESULTS/runs/HASH")
    config = folder.config()
    dataset = load_dataset(config.data.name, data_dir, config.data.options)
    signals = isinstance(dataset, SignalDataset)
    return TrainedRun(
        folder=folder,
        config=config,
        task=load_task(config.data, data_dir=data_dir, dtype=PRECISIONS[config.train.dtype][0]),
        class_names=dataset.class_names,
        channel_names=getattr(dataset, "channel_names", ()) if signals else (),
        sampling_rate=getattr(dataset, "sampling_rate", float("nan")),
    )


def figure_config(norm: str, *, subject: int, seed: int, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """Return the paper's configuration on one subject of MAMEM-SSVEP-II with a normalisation.

    The rows of the paper's table where it has one (with their options), any registered normalisation otherwise.

    Examples
    --------
    >>> config = figure_config("lie", subject=11, seed=0, overrides={"train.epochs": 20})
    >>> config.model.norm_options, config.data.options, config.train.epochs
    ({'metric': 'aim'}, {'subjects': [11]}, 20)
    """
    recipe = load_recipe("mamem_acc")
    base = recipe.entries(rows=("spdnet",), replicates=1)[0].config
    rows = [entry.config.model for entry in recipe.entries(replicates=1) if entry.config.model.norm == norm]
    options = rows[0].norm_options if rows and norm != "none" else {}
    values = {"model.norm": norm, "model.norm_options": options, "data.options.subjects": [subject], "seed": seed}
    return base.with_values({**values, **(overrides or {})})


def train_run(config: RunConfig, *, store: Store, execution: Execution) -> TrainedRun:
    """Train a network, or take it from the store, with all that figures want to know of its training.

    Examples
    --------
    >>> from spdnorm.experiments import load_recipe
    >>> config = load_recipe("demo").entries(quick=True)[0].config
    >>> run = train_run(config, store=Store(Path("runs")), execution=Execution())
    >>> sorted(path.name for path in run.folder.path.iterdir() if path.suffix == ".csv")
    ['conditions.csv', 'metrics.csv']
    """
    folder = store.run(config)
    if folder.done and not snapshot_epochs(folder):
        raise FigureError(
            f"{folder.path} was trained without keeping weights on the way; give --results another folder, or the "
            "run itself as --run where the figure does not need them"
        )
    logs: list[LogFactory] = [SnapshotLog]
    if config.model.name in _WITH_MATRICES:
        logs.append(partial(ConditionLog, tensorboard=execution.tensorboard))
    run(config, store=store, execution=execution, logs=logs)
    return open_run(folder.path, data_dir=execution.data_dir)
