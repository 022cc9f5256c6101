"""What a figure is asked for, and where it gets its networks from: given runs, or runs trained on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..experiments import Execution, Store
from .errors import FigureError
from .runs import PartName, TrainedRun, figure_config, open_run, train_run
from .shares import WINDOW

__all__ = ["Request"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """Options of a figure; those that a figure has no use for are not looked at.

    Attributes
    ----------
    runs : tuple of Path
        Folders of runs to draw; none to train.
    norms : tuple of str
        Normalisations to train, side by side; those of the figure's own where empty.
    subject, seed, seeds : int
        Subject of MAMEM-SSVEP-II, first seed, and number of seeds.
    overrides : mapping
        Dotted configuration keys of what is trained.
    part : "train", "validation", "test" or "all"
        Samples whose gradients are averaged.
    channel_names : tuple of str
        Instead of the data set's.
    channel, window : str, pair of float
        What ``response-shares`` measures.

    Examples
    --------
    >>> request = Request(store=Store(Path("runs")), norms=("gbw", "spd"), subject=3)
    >>> request.part, request.seeds
    ('test', 1)
    """

    store: Store
    execution: Execution = field(default_factory=Execution)
    runs: tuple[Path, ...] = ()
    norms: tuple[str, ...] = ()
    subject: int = 11
    seed: int = 0
    seeds: int = 1
    overrides: Mapping[str, Any] = field(default_factory=dict)
    part: PartName = "test"
    channel_names: tuple[str, ...] = ()
    channel: str = "Oz"
    window: tuple[float, float] = WINDOW

    def trained(self, *, norms: tuple[str, ...], **overrides: Any) -> list[TrainedRun]:
        """Return the runs that were given, or else train one for each normalisation and seed.

        ``norms`` and ``overrides`` (dots written as double underscores) are the figure's own; the user's win.
        """
        if self.runs:
            return [open_run(path, data_dir=self.execution.data_dir) for path in self.runs]
        own = {key.replace("__", "."): value for key, value in overrides.items()} | dict(self.overrides)
        return [
            train_run(
                figure_config(norm, subject=self.subject, seed=seed, overrides=own),
                store=self.store,
                execution=self.execution,
            )
            for norm in self.norms or norms
            for seed in range(self.seed, self.seed + self.seeds)
        ]

    def one(self, *, norms: tuple[str, ...], **overrides: Any) -> TrainedRun:
        """Return the one run that a figure of a single network draws."""
        found = self.trained(norms=norms, **overrides)
        if len(found) != 1:
            raise FigureError(f"this figure shows one network, and {len(found)} were asked for: give one")
        return found[0]

    def channels(self, run: TrainedRun) -> tuple[str, ...]:
        """Return the names of a run's channels, as given or as the data set has them."""
        names = self.channel_names or run.channel_names
        count = run.task.sample_shape[0]
        if len(names) != count:
            raise FigureError(f"--channel-names gives {len(names)} names for the {count} channels of the data")
        return names
