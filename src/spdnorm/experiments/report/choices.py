"""Which row a table chooses, by a column that saw no test part, and what the other columns then say of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..recipe import Row
from ..table import Cell, Table

__all__ = ["choices", "chosen_row"]


def chosen_row(table: Table, rows: Sequence[Row]) -> Row | None:
    """Return the row with the largest mean in the column to choose by; the first of equal ones.

    Only rows none of whose runs is missing there are compared, and only by the protocol ``paper``.
    """
    assert table.recipe.choose_by is not None
    whole = [(row, cell) for row in rows if (cell := _whole(table, row, table.recipe.choose_by)) is not None]
    return max(whole, key=lambda pair: pair[1].mean)[0] if whole else None


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
