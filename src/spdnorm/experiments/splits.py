"""Which samples train, validate and test: the same for every method, whatever the run's seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..datasets.types import Dataset
from .config import SplitConfig
from .errors import ConfigError

__all__ = ["Split", "split"]


@dataclass(frozen=True)
class Split:
    """Sorted sample indices; ``validation`` may be empty."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def split(dataset: Dataset, config: SplitConfig) -> Split:
    """Return the indices that a configuration asks for; a sample is in one part at most."""
    rng = np.random.default_rng([config.seed, config.fold])
    parts = _SPLITTERS[config.by](dataset, config, rng)
    if config.validation and not len(parts.validation):
        parts = _hold_out(dataset, parts, config, rng)
    for name in ("train", "test"):
        if not len(getattr(parts, name)):
            raise ConfigError(f"data.split leaves no {name} samples of {dataset.name!r}: {config}")
    return parts


def _by_column(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    values = dataset.column(config.column)
    return Split(*(np.flatnonzero(values == name) for name in ("train", "validation", "test")))


def _half(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    train = _part_of_each_class(np.arange(len(dataset)), dataset.y, 0.5, rng)
    return Split(train, np.empty(0, dtype=np.int64), np.setdiff1d(np.arange(len(dataset)), train))


def _groups(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    # One assignment for all folds: it may depend on the seed of the split, never on the fold.
    fold = group_folds(dataset.column(config.group), dataset.y, folds=config.folds, seed=config.seed)
    train, test = np.flatnonzero(fold != config.fold), np.flatnonzero(fold == config.fold)
    return Split(train, np.empty(0, dtype=np.int64), test)


def group_folds(groups: np.ndarray, y: np.ndarray, *, folds: int, seed: int) -> np.ndarray:
    """Return the fold of each sample, (N,): no group in two folds, class counts as even as a greedy pass gets.

    Large groups are placed first, each into the fold where the squared class counts grow least.
    """
    names, member = np.unique(groups, return_inverse=True)
    if len(names) < folds:
        raise ConfigError(f"folds={folds} but there are only {len(names)} groups")
    counts = np.zeros((len(names), int(y.max()) + 1))
    np.add.at(counts, (member, y), 1)
    share = counts / counts.sum(0).clip(min=1)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-counts[order].sum(1), kind="stable")]
    filled = np.zeros((folds, counts.shape[1]))
    fold_of = np.empty(len(names), dtype=np.int64)
    for group in order:
        growth = ((filled + share[group]) ** 2 - filled**2).sum(1)
        fold_of[group] = int(growth.argmin())
        filled[fold_of[group]] += share[group]
    return fold_of[member]


def _blocks(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    # Neighbours in time are alike: a test sample drawn at random would mostly have one of them in training.
    cells = np.stack([np.unique(dataset.column(config.group), return_inverse=True)[1], dataset.y])
    tested = np.zeros(len(dataset), dtype=bool)
    for cell in np.unique(cells, axis=1).T:
        members = np.flatnonzero((cells == cell[:, None]).all(0))
        tested[np.array_split(members, config.folds)[config.fold]] = True
    return Split(np.flatnonzero(~tested), np.empty(0, dtype=np.int64), np.flatnonzero(tested))


def _last_session(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    parts = _sessions(dataset, config, rng)
    return Split(np.union1d(parts.train, parts.validation), np.empty(0, dtype=np.int64), parts.test)


def _sessions(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    groups, sessions = dataset.column(config.group), dataset.column("session")
    part = np.full(len(dataset), "train", dtype="<U10")
    for group in np.unique(groups):
        inside = groups == group
        present = np.unique(sessions[inside])
        if len(present) < 2:
            raise ConfigError(f"data.split by sessions: {config.group} {group} has one session only")
        part[inside & (sessions == present[-1])] = "test"
        if len(present) > 2:
            part[inside & (sessions == present[-2])] = "validation"
    return Split(*(np.flatnonzero(part == name) for name in ("train", "validation", "test")))


def _inner(dataset: Dataset, config: SplitConfig, rng: np.random.Generator) -> Split:
    outer = _by_column(dataset, config, rng)
    groups, sessions = dataset.column(config.group)[outer.train], dataset.column("session")[outer.train]
    last = np.zeros(len(outer.train), dtype=bool)
    for group in np.unique(groups):
        inside = groups == group
        present = np.unique(sessions[inside])
        if len(present) < 2:
            raise ConfigError(f"data.split inner: {config.group} {group} trains on one session only")
        last |= inside & (sessions == present[-1])
    return Split(outer.train[~last], outer.train[last], outer.validation)


def _hold_out(dataset: Dataset, parts: Split, config: SplitConfig, rng: np.random.Generator) -> Split:
    if config.by == "groups":
        groups = dataset.column(config.group)[parts.train]
        names = rng.permutation(np.unique(groups))
        chosen = names[: max(1, round(config.validation * len(names)))]
        validation = parts.train[np.isin(groups, chosen)]
    else:
        validation = _part_of_each_class(parts.train, dataset.y, config.validation, rng)
    return Split(np.setdiff1d(parts.train, validation), validation, parts.test)


def _part_of_each_class(among: np.ndarray, y: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    chosen = []
    for label in np.unique(y[among]):
        members = rng.permutation(among[y[among] == label])
        chosen.append(members[: round(fraction * len(members))])
    return np.sort(np.concatenate(chosen))


_SPLITTERS = {
    "column": _by_column,
    "half": _half,
    "groups": _groups,
    "blocks": _blocks,
    "sessions": _sessions,
    "last-session": _last_session,
    "inner": _inner,
}
