"""Which epoch a run is read at, by its validation part."""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["SELECTIONS", "score_of"]

#: train.select -> how a report calls it.
SELECTIONS = {"loss": "smallest validation loss", "accuracy": "largest validation accuracy", "last": "last epoch"}


def score_of(row: Mapping[str, float], select: str) -> tuple[float, ...] | None:
    """Return what is compared between epochs, the smaller the better; None where the last one is read anyway.

    A loss that is no number is worse than any; of equal scores the first epoch is chosen.
    """
    if select == "last":
        return None
    loss = row["validation_loss"] if math.isfinite(row["validation_loss"]) else math.inf
    return (-row["validation_accuracy"], loss) if select == "accuracy" else (loss,)
