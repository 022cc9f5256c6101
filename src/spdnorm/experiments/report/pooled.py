"""What the networks of each row come to when pooled, as a grid of texts."""

from __future__ import annotations

from ..pooling import Pooled, pool
from ..table import Table
from .layout import Grid, Text

__all__ = ["POOLED", "pooled"]

POOLED = (
    "Networks of all replicates (seeds) pooled for each member: their probabilities are averaged, from the weights of "
    "the epochs chosen under the protocol “paper”, and read on the test part. Beside it the mean of the same networks "
    "alone."
)
HEADER = ("pooled", "alone", "networks")


def pooled(table: Table, *, data_dir: str | None = None) -> Grid | None:
    """Return each row's pooled and mean accuracy (%), for each column; None where no cell has two replicates."""
    header: list[tuple[str, str]] = []
    stripes: list[list[list[Text]]] = []
    rows = table.recipe.rows
    for column in table.recipe.columns:
        found = [pool(table, row.key, column.key, data_dir=data_dir) for row in rows]
        if any(found):
            header += [(column.label, name) for name in HEADER]
            top = max(one.pooled for one in found if one is not None)
            stripes.append([_texts(one, top) for one in found])
    if not header:
        return None
    body = [[text for stripe in stripes for text in stripe[i]] for i in range(len(rows))]
    done = [i for i, line in enumerate(body) if any(text.text != "–" for text in line)]
    return Grid(
        row_title=table.recipe.row_title,
        header=header,
        labels=[rows[i].label for i in done],
        body=[body[i] for i in done],
    )


def _texts(one: Pooled | None, top: float) -> list[Text]:
    if one is None:
        return [Text("–")] * len(HEADER)
    return [Text(f"{one.pooled:.2f}", best=one.pooled == top), Text(f"{one.alone:.2f}"), Text(str(one.networks))]
