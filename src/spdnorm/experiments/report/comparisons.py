"""One row of a table against each other one, as a grid of texts."""

from __future__ import annotations

from ..errors import ExperimentError
from ..paired import Comparison, compare, holm
from ..table import Table
from .layout import Grid, Text

__all__ = ["EXPLANATION", "against"]

EXPLANATION = (
    "Paired by seed and member; differences are averaged over seeds first. Interval (bootstrap, 95 %), rank-biserial "
    "effect size (-1 to 1) and Wilcoxon's signed-rank test are over members; p is adjusted for the number of rows "
    "(Holm)."
)
HEADER = ("difference", "95 % interval", "better : worse", "effect", "p")


def against(table: Table, row: str) -> Grid | None:
    """Return ``row`` minus every other row, for each column and protocol; None where there is nothing to compare."""
    known = {entry.key: entry.label for entry in table.recipe.rows}
    if row not in known:
        raise ExperimentError(f"the table {table.name} has no row {row!r}; choose one of {', '.join(known)}")
    header: list[tuple[str, str]] = []
    stripes: list[list[list[Text]]] = []
    others = [entry for entry in table.recipe.rows if entry.key != row]
    for column in table.recipe.columns:
        for protocol in table.recipe.protocols_of(column):
            found = [compare(table, row, other.key, column.key, protocol) for other in others]
            if any(found):
                header += [(f"{column.label}, “{protocol}”", name) for name in HEADER]
                stripes.append(_texts(found))
    if not header:
        return None
    body = [[text for stripe in stripes for text in stripe[i]] for i in range(len(others))]
    done = [i for i, line in enumerate(body) if any(text.text != "–" for text in line)]
    return Grid(
        row_title=f"{known[row]} against",
        header=header,
        labels=[others[i].label for i in done],
        body=[body[i] for i in done],
    )


def _texts(found: list[Comparison | None]) -> list[list[Text]]:
    adjusted = iter(holm([c.p_value for c in found if c is not None]))
    return [[Text("–")] * len(HEADER) if c is None else _line(c, next(adjusted)) for c in found]


def _line(c: Comparison, p_value: float) -> list[Text]:
    hint = f"{c.members} members, {c.replicates} replicates"
    numbers = (
        f"{c.difference:+.2f}",
        f"{c.low:+.2f} to {c.high:+.2f}",
        f"{c.wins} : {c.losses}",
        f"{c.effect:+.2f}",
        "< 0.001" if p_value < 0.001 else f"{p_value:.3f}",
    )
    return [Text(text, hint=hint) for text in numbers]
