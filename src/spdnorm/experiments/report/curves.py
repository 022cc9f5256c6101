"""Learning curves: the numbers of every epoch, averaged over the runs of a cell."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..table import Table

__all__ = ["Curve", "curves"]


@dataclass(frozen=True)
class Curve:
    """A named line: epochs and values."""

    label: str
    points: tuple[tuple[float, float], ...]


def curves(table: Table, column: str, metric: str) -> list[Curve]:
    """Return one curve for each row of a column that has the metric."""
    found = []
    for row in table.recipe.rows:
        files = [
            table.folder(place).metrics_file for place in table.runs(row.key, column) if table.result(place) is not None
        ]
        points = _average(files, metric)
        if points:
            found.append(Curve(row.label, points))
    return found


def _average(files: Iterable[Path], metric: str) -> tuple[tuple[float, float], ...]:
    total: dict[int, tuple[float, int]] = {}
    for file in files:
        with file.open(newline="") as stream:
            for row in csv.DictReader(stream):
                if row.get(metric):
                    epoch = int(float(row["epoch"]))
                    value, count = total.get(epoch, (0.0, 0))
                    total[epoch] = value + float(row[metric]), count + 1
    return tuple((float(epoch), value / count) for epoch, (value, count) in sorted(total.items()))
