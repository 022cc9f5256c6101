"""From a data configuration to the tensors that a network trains on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from .. import datasets
from ..datasets.types import MatrixDataset, SignalDataset
from .config import DataConfig
from .errors import ConfigError
from .splits import split

__all__ = ["Part", "TaskData", "load_dataset", "load_task"]


@dataclass(frozen=True)
class Part:
    """Samples of one part: ``x`` (N, ...) and ``y`` (N,)."""

    x: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True)
class TaskData:
    """The three parts, and what a network must know of them; ``validation`` is None where there is none."""

    train: Part
    validation: Part | None
    test: Part
    n_classes: int
    holds_signals: bool

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample: (n, n) for matrices, (channels, times) for signals."""
        return tuple(self.train.x.shape[1:])

    def to(self, device: torch.device) -> TaskData:
        """Return the same on another device."""
        parts = {
            name: None if part is None else Part(part.x.to(device), part.y.to(device))
            for name, part in (("train", self.train), ("validation", self.validation), ("test", self.test))
        }
        return replace(self, **parts)  # type: ignore[arg-type]


def load_task(config: DataConfig, *, data_dir: str | None, dtype: torch.dtype) -> TaskData:
    """Load, select, turn into matrices where asked, and split."""
    dataset = load_dataset(config.name, data_dir, config.options)
    if config.where:
        dataset = dataset.where(**config.where)
    if config.covariance is not None:
        if not isinstance(dataset, SignalDataset):
            raise ConfigError(f"data.covariance: {config.name!r} holds matrices already; leave it out")
        # In the precision of training: rounding may make a single-precision covariance indefinite.
        try:
            dataset = dataset.to_spd(dtype=str(dtype).removeprefix("torch."), **config.covariance)
        except TypeError as error:
            raise ConfigError(f"data.covariance: {error}") from error
    if config.regularization and isinstance(dataset, SignalDataset):
        raise ConfigError(
            "data.regularization adds to matrices; for a network on signals set it in the network, "
            "model.options.epsilon, or set data.covariance={}"
        )
    indices = split(dataset, config.split)
    x, y = dataset.tensors(dtype=dtype)
    if config.regularization:
        x = x + config.regularization * torch.eye(x.shape[-1], dtype=dtype)
    parts = [Part(x[which], y[which]) for which in (indices.train, indices.validation, indices.test)]
    return TaskData(
        train=parts[0],
        validation=parts[1] if len(parts[1]) else None,
        test=parts[2],
        n_classes=dataset.n_classes,
        holds_signals=isinstance(dataset, SignalDataset),
    )


def load_dataset(name: str, data_dir: str | None, options: Mapping[str, Any]) -> SignalDataset | MatrixDataset:
    """Load a data set by name, or take it from the last few that were loaded."""
    try:
        return _load(name, data_dir, json.dumps(options, sort_keys=True))
    except TypeError as error:
        raise ConfigError(f"data.options of {name!r}: {error}") from error


# Several runs of one process mostly share a data set; reading it again would cost more than a quick run.
@lru_cache(maxsize=4)
def _load(name: str, data_dir: str | None, options: str) -> SignalDataset | MatrixDataset:
    return datasets.load(name, data_dir, **json.loads(options))
