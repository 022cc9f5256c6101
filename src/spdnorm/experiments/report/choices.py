"""Which row a table chooses, by a column that saw no test part, and what the other columns then say of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..recipe import Row
from ..table import Cell, Table

__all__ = ["choices", "chosen_row"]


def chosen_row(table: Table, rows: Sequence[Row]) -> Row | None:
    """Return the row with the largest mean in the column to choose by; the first of equal ones.

    Rows none of whose runs is missing there are compared, by the protocol ``paper``; those with as many replicates as
    any row of the table: of few replicates a large mean is more often luck.
    """
    by = table.recipe.choose_by
    assert by is not None
    cells = {row.key: cell for row in table.recipe.rows if (cell := _whole(table, row, by)) is not None}
    most = max((cell.replicates for cell in cells.values()), default=0)
    whole = [row for row in rows if row.key in cells and cells[row.key].replicates == most]
    return max(whole, key=lambda row: cells[row.key].mean) if whole else None


def choices(table: Table) -> list[str]:
    """Say which row was chosen, of each group and of all; nothing where the recipe chooses none."""
    by = next((column for column in table.recipe.columns if column.key == table.recipe.choose_by), None)
    if by is None or table.quick:
        return []
    groups = list(dict.fromkeys(row.group for row in table.recipe.rows if row.group))
    parts = []
    for group in [*groups, ""]:
        row = chosen_row(table, [r for r in table.recipe.rows if not group or r.group == group])
        if row is not None:
            parts.append(f"of {group or 'all'}, {_said(table, row)}")
    if not parts:
        return []
    return [f"Chosen by the column “{by.label}” alone (largest mean): {'; '.join(parts)}."]


def _said(table: Table, row: Row) -> str:
    numbers = []
    for column in table.recipe.columns:
        cell = table.cell(row.key, column.key, "paper")
        if cell is not None:
            numbers.append(f"{cell.mean:.2f} in “{column.label}”")
    return f"“{row.label}” ({', '.join(numbers)})"


def _whole(table: Table, row: Row, column: str) -> Cell | None:
    cell = table.cell(row.key, column, "paper")
    return None if cell is None or cell.missing else cell
