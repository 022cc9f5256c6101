"""Is one row of a table better than another? Differences of paired runs, and how sure they are.

Runs are paired by replicate (seed) and member (subject): both networks saw the same data, from the same seed. Members
are what results generalise over, seeds are not: differences are averaged over replicates first, and the test, the
interval and the effect size are over members. Where a table has one member, they are over replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .readings import Protocol
from .table import Table

__all__ = ["Comparison", "compare", "holm"]

#: Of the bootstrap, and its seed: the same table gives the same interval.
RESAMPLES, SEED = 10_000, 0


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A row minus another, in points of accuracy.

    Attributes
    ----------
    difference : float
        Mean over members of the mean over replicates.
    low, high : float
        95 % interval of that mean: members are drawn with replacement (percentile bootstrap).
    wins, losses : int
        Members where the row is better, or worse, on average.
    effect : float
        Matched-pairs rank-biserial correlation, from -1 (every member worse) to 1.
    p_value : float
        Wilcoxon's signed-rank test, two-sided; 1 where all differences are 0.
    members, replicates : int
        How many of each the difference is over.
    """

    difference: float
    low: float
    high: float
    wins: int
    losses: int
    effect: float
    p_value: float
    members: int
    replicates: int


def compare(table: Table, row: str, other: str, column: str, protocol: Protocol) -> Comparison | None:
    """Return ``row`` minus ``other`` over the runs that both have, or None where fewer than two pairs are left.

    Only replicates in which all members of both rows are done count.
    """
    differences = _differences(table, row, other, column, protocol)
    if differences is None:
        return None
    replicates, members = differences.shape
    units = differences.mean(0) if members > 1 else differences[:, 0]
    if len(units) < 2:
        return None
    draws = np.random.default_rng(SEED).integers(0, len(units), (RESAMPLES, len(units)))
    low, high = np.quantile(units[draws].mean(1), [0.025, 0.975])
    effect, p_value = _signed_ranks(units)
    return Comparison(
        difference=float(units.mean()),
        low=float(low),
        high=float(high),
        wins=int((units > 0).sum()),
        losses=int((units < 0).sum()),
        effect=effect,
        p_value=p_value,
        members=members,
        replicates=replicates,
    )


def _differences(table: Table, row: str, other: str, column: str, protocol: Protocol) -> np.ndarray | None:
    """Points (replicates, members)."""
    found: list[dict[tuple[int, int], float]] = []
    for name in (row, other):
        readings = {}
        for place in table.runs(name, column):
            reading = ((table.result(place) or {}).get("readings") or {}).get(protocol)
            if reading is not None:
                readings[place.replicate, place.member] = 100.0 * reading["accuracy"]
        found.append(readings)
    members = sorted({place.member for place in table.runs(row, column)})
    replicates = sorted({place.replicate for place in table.runs(row, column)})
    whole = [r for r in replicates if all((r, m) in readings for m in members for readings in found)]
    if not whole:
        return None
    return np.array([[found[0][r, m] - found[1][r, m] for m in members] for r in whole])


def _signed_ranks(units: np.ndarray) -> tuple[float, float]:
    """Rank-biserial correlation and p-value; differences of 0 are left out of both."""
    from scipy import stats

    units = units[units != 0]
    if len(units) == 0:
        return 0.0, 1.0
    ranks = stats.rankdata(abs(units))
    effect = float((ranks * np.sign(units)).sum() / ranks.sum())
    return effect, float(stats.wilcoxon(units).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for as many tests (Holm's step-down method), in the order given.

    Examples
    --------
    >>> from spdnorm.experiments.paired import holm
    >>> [round(p, 2) for p in holm([0.04, 0.01, 0.5])]
    [0.08, 0.03, 0.5]
    """
    order = np.argsort(p_values)
    adjusted, worst = np.empty(len(p_values)), 0.0
    for position, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - position) * p_values[index]))
        adjusted[index] = worst
    return [float(p) for p in adjusted]
