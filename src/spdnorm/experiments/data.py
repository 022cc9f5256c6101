"""From a data configuration to the tensors that a network trains on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
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
    """Samples of one part: ``x`` (N, ...), ``y`` (N,) and, where there are domains, the number of each one's (N,)."""

    x: Tensor
    y: Tensor
    domains: Tensor | None = None

    def __len__(self) -> int:
        return len(self.y)

    def inputs(self, which: Tensor | slice) -> tuple[Tensor, ...]:
        """Return what a network is called with for these samples."""
        return (self.x[which],) if self.domains is None else (self.x[which], self.domains[which])

    def to(self, device: torch.device) -> Part:
        """Return the same on another device."""
        domains = None if self.domains is None else self.domains.to(device)
        return Part(self.x.to(device), self.y.to(device), domains)


@dataclass(frozen=True)
class TaskData:
    """The three parts, and what a network must know of them; ``validation`` is None where there is none."""

    train: Part
    validation: Part | None
    test: Part
    n_classes: int
    holds_signals: bool
    #: Domains of the normalisations' statistics; 0 where all samples share them.
    n_domains: int = 0

    @property
    def sample_shape(self) -> tuple[int, ...]:
        """Shape of one sample: (n, n) for matrices, (channels, times) for signals."""
        return tuple(self.train.x.shape[1:])

    def to(self, device: torch.device) -> TaskData:
        """Return the same on another device."""
        parts = {
            name: None if part is None else part.to(device)
            for name, part in (("train", self.train), ("validation", self.validation), ("test", self.test))
        }
        return replace(self, **parts)  # type: ignore[arg-type]


def load_task(config: DataConfig, *, data_dir: str | None, dtype: torch.dtype) -> TaskData:
    """Load, select, turn into matrices where asked, and split."""
    dataset = load_dataset(config.name, data_dir, config.options)
    if config.where:
        dataset = dataset.where(**config.where)
    if config.bands:
        dataset = _filtered(dataset, config)
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
    numbers, count = _domains(dataset, config)
    parts = [
        Part(x[which], y[which], None if numbers is None else numbers[which])
        for which in (indices.train, indices.validation, indices.test)
    ]
    return TaskData(
        train=parts[0],
        validation=parts[1] if len(parts[1]) else None,
        test=parts[2],
        n_classes=dataset.n_classes,
        holds_signals=isinstance(dataset, SignalDataset),
        n_domains=count,
    )


def _filtered(dataset: SignalDataset | MatrixDataset, config: DataConfig) -> SignalDataset:
    if not isinstance(dataset, SignalDataset):
        raise ConfigError(f"data.bands: {config.name!r} holds matrices, which have no frequencies; leave it out")
    try:
        return dataset.filtered(config.bands)
    except ValueError as error:
        raise ConfigError(f"data.bands: {error}") from error


def _domains(dataset: SignalDataset | MatrixDataset, config: DataConfig) -> tuple[Tensor | None, int]:
    if config.domain is None:
        return None, 0
    try:
        names, number = np.unique(dataset.column(config.domain), return_inverse=True)
    except KeyError as error:
        raise ConfigError(f"data.domain: {error.args[0]}") from error
    return torch.as_tensor(number), len(names)


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
