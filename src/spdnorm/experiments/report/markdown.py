"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .layout import Grid

__all__ = ["to_markdown"]


def to_markdown(grid: Grid, *, title: str, facts: Sequence[str]) -> str:
    """Return a heading, a pipe table and what has to be said with it."""
    header = [grid.row_title, *(f"{group}: {own}" if group else own for group, own in grid.header)]
    lines = [f"## {title}", "", _line(header), _line(["---", *["---:" for _ in grid.header]])]
    for label, cells in zip(grid.labels, grid.body, strict=True):
        texts = [f"**{cell.text}**" if cell.best else cell.text for cell in cells]
        lines.append(_line([label, *texts]))
    lines += ["", *(f"{fact}\n" for fact in facts)]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
