"""A table on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from ..report import facts, layout
from ..table import Table

__all__ = ["show_table"]


def show_table(table: Table) -> None:
    """Print a table as far as it is done, and what has to be said with it."""
    grid = layout(table)
    shown = RichTable(title=f"{table.recipe.title} ({table.name})", title_justify="left")
    shown.add_column(grid.row_title)
    for group, own in grid.header:
        shown.add_column(Text(f"{group}\n{own}" if group else own), justify="right")
    for label, cells in zip(grid.labels, grid.body, strict=True):
        shown.add_row(Text(label), *(Text(cell.text, style="bold" if cell.best else "") for cell in cells))
    console = Console()
    if not console.is_terminal:
        # A file or a pipe has no width: the table takes what it needs.
        console = Console(width=max(80, Console(width=1000).measure(shown).maximum))
    console.print(shown)
    for line in facts(table):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
