"""Condition numbers around every normalisation of a network while it trains, cheap enough to leave on.

The paper's table counts ill-conditioned features after a few epochs (:mod:`.conditioning`); here forward hooks look
at one training batch in ``every``, and what they saw is summed up once an epoch.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from ..datasets.extras import require
from .conditioning import THRESHOLDS, condition_numbers, norm_places, summarize
from .files import write_text
from .store import RunFolder
from .trainer import Trainer

__all__ = ["CONDITIONS_FILE", "ConditionLog", "ConditionRecorder"]

#: In the run's folder.
CONDITIONS_FILE = "conditions.csv"

_BOARD = "tensorboard/conditions"

_ABOVE = tuple(f"above_{threshold:.0e}".replace("e+0", "e") for threshold in THRESHOLDS)
_QUANTILES = ("minimum", "lower_quartile", "median", "upper_quartile", "maximum")
COLUMNS = ("epoch", "place", "side", "samples", *_ABOVE, *_QUANTILES)


class ConditionRecorder:
    """Record the condition numbers of the features before and after normalisations, in training mode.

    Parameters
    ----------
    model : Module
    places : mapping of str to Module, optional
        Modules to look at, from SPD matrices (..., n, n) to SPD matrices, by the name to record them under; by
        default what follows each bilinear map, which is the identity in a network without normalisation: then
        both sides are the features without it.
    every : int
        Look at one batch in so many, the first among them.

    Examples
    --------
    >>> import torch
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.models import SPDNet
    >>> model = SPDNet((4, 3), 2, norm="gbw", dtype=torch.float64)
    >>> with ConditionRecorder(model) as recorder:
    ...     _ = model(random_spd(4, 10, condition=1e4))
    >>> [(row["place"], row["side"], row["samples"]) for row in recorder.rows()]
    [('blocks.0.norm', 'before', 10), ('blocks.0.norm', 'after', 10)]
    """

    def __init__(self, model: nn.Module, *, places: Mapping[str, nn.Module] | None = None, every: int = 8) -> None:
        if every < 1:
            raise ValueError(f"`every` must be 1 or more, got {every}")
        self.every = every
        self.places = dict(norm_places(model) if places is None else places)
        self._found: dict[tuple[str, str], list[Tensor]] = {}
        self._calls = dict.fromkeys(self.places, 0)
        self._handles = [self._attach(name, module) for name, module in self.places.items()]

    def _attach(self, name: str, module: nn.Module) -> Any:
        @torch.no_grad()
        def look(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
            if not module.training:
                return
            call = self._calls[name]
            self._calls[name] = call + 1
            if call % self.every == 0:
                before = condition_numbers(inputs[0]).flatten()
                after = before if output is inputs[0] else condition_numbers(output).flatten()
                self._found.setdefault((name, "before"), []).append(before)
                self._found.setdefault((name, "after"), []).append(after)

        return module.register_forward_hook(look)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each place and side since the last call, and start anew."""
        found, self._found = self._found, {}
        self._calls = dict.fromkeys(self.places, 0)
        return [
            {"place": place, "side": side, **_flat(summarize(torch.cat(kappa)))}
            for (place, side), kappa in found.items()
        ]

    def close(self) -> None:
        """Remove the hooks."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class ConditionLog:
    """``conditions.csv`` in a run's folder, and TensorBoard where asked: a :class:`ConditionRecorder` for a run.

    ``run(config, store=store, logs=[ConditionLog])``; a run that continues keeps the rows of the epochs before.
    """

    def __init__(self, folder: RunFolder, trainer: Trainer, *, every: int = 8, tensorboard: bool = False) -> None:
        self.recorder = ConditionRecorder(trainer.module, every=every)
        path = folder.path / CONDITIONS_FILE
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in _read(path) if int(row["epoch"]) <= trainer.epoch)
        write_text(path, text.getvalue())
        self._stream = path.open("a", newline="")
        self._writer = csv.DictWriter(self._stream, COLUMNS, lineterminator="\n")
        self._board: Any = None
        if tensorboard:
            module = require("torch.utils.tensorboard", extra="experiments", purpose="TensorBoard logs")
            # A folder of its own: two writers in one would each purge what the other has written.
            self._board = module.SummaryWriter(str(folder.path / _BOARD), purge_step=trainer.epoch + 1)

    def write(self, row: Mapping[str, float]) -> None:
        """Append what the epoch showed."""
        epoch = int(row["epoch"])
        for found in self.recorder.rows():
            self._writer.writerow({"epoch": epoch, **found})
            for key in (*_ABOVE, *_QUANTILES) if self._board is not None else ():
                name = f"condition/{found['place']}/{found['side']}/{key}"
                self._board.add_scalar(name, found[key], epoch)
        self._stream.flush()

    def close(self) -> None:
        """Remove the hooks and close the files."""
        self.recorder.close()
        self._stream.close()
        if self._board is not None:
            self._board.close()


def _flat(summary: Mapping[str, Any]) -> dict[str, Any]:
    counts: Sequence[int] = list(summary["above"].values())
    return {
        "samples": summary["samples"],
        **dict(zip(_ABOVE, counts, strict=True)),
        **dict(zip(_QUANTILES, summary["quantiles"], strict=True)),
    }


def _read(path: Path) -> Iterator[dict[str, str]]:
    if path.exists():
        with path.open(newline="") as stream:
            yield from list(csv.DictReader(stream))
