"""The same training, read in two ways.

``paper``: the epoch with the smallest validation loss (or as ``train.select`` says), accuracy on the test part, per
sample. Where a data set has no validation part (the halves of HDM05 and NTU), the last epoch.

``released``: what the authors' published script prints as test accuracy. It validates on the session that the
paper tests on and reads its "test" accuracy on the session that the paper validates on, from the last epoch,
averaged over batches. Where there is no validation part: the test part, last epoch, averaged over batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .selection import SELECTIONS

__all__ = ["PROTOCOLS", "Protocol", "readings"]

Protocol = Literal["paper", "released"]
PROTOCOLS: tuple[Protocol, ...] = ("paper", "released")


def readings(
    history: Sequence[Mapping[str, float]], *, chosen_epoch: int | None, stopped_early: bool, select: str = "loss"
) -> dict[str, dict[str, Any]]:
    """Return the reading of each protocol.

    Parameters
    ----------
    history : sequence of rows
        All epochs.
    chosen_epoch : int or None
        Epoch (from 1) that the validation part chose; None without a validation part.
    stopped_early : bool
        The last epoch was then not the one that the released script would have read: no such reading.
    select : str
        ``train.select``: how it was chosen.
    """
    last = history[-1]
    if chosen_epoch is None:
        paper = _reading(last, part="test", average="samples", selection="last epoch")
    else:
        row = history[chosen_epoch - 1]
        paper = _reading(row, part="test", average="samples", selection=SELECTIONS[select])
    found = {"paper": paper}
    if not stopped_early:
        part = "test" if chosen_epoch is None else "validation"
        found["released"] = _reading(last, part=part, average="batches", selection="last epoch")
    return found


def _reading(row: Mapping[str, float], *, part: str, average: str, selection: str) -> dict[str, Any]:
    key = f"{part}_batch_accuracy" if average == "batches" else f"{part}_accuracy"
    return {
        "accuracy": row[key],
        "loss": row[f"{part}_loss"],
        "epoch": int(row["epoch"]),
        "part": part,
        "average": average,
        "selection": selection,
    }
