"""Reports of tables: Markdown, LaTeX and one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..files import write_text
from ..table import Table
from .comparisons import EXPLANATION, against
from .facts import facts
from .html import to_html
from .latex import to_latex
from .layout import Grid, Text, layout
from .markdown import to_markdown
from .pooled import POOLED, pooled
from .runs_csv import to_csv

__all__ = [
    "EXPLANATION",
    "POOLED",
    "Grid",
    "Text",
    "against",
    "facts",
    "layout",
    "pooled",
    "to_csv",
    "to_html",
    "to_latex",
    "to_markdown",
    "write_report",
]


def write_report(
    tables: Sequence[Table],
    folder: Path,
    *,
    title: str = "Results",
    figures: Sequence[Path] = (),
    reference: str | None = None,
    pools: bool = False,
    data_dir: str | None = None,
) -> list[Path]:
    """Write ``report.md``, ``report.html``, and a ``.tex`` and a ``.csv`` file for each table; return their paths.

    ``figures``: pictures that become part of the page. ``reference``: a row that is compared with every other one.
    ``pools``: also what the networks of each row come to when pooled over replicates, with the data of ``data_dir``
    (in the Markdown file).
    """
    page = to_html(tables, title=title, figures=figures, reference=reference)
    folder.mkdir(parents=True, exist_ok=True)
    markdown, written = [f"# {title}\n"], []
    for table in tables:
        grid, said = layout(table), facts(table)
        markdown.append(to_markdown(grid, title=f"{table.recipe.title} (`{table.name}`)", facts=said))
        compared = None if reference is None else against(table, reference)
        if compared is not None:
            title_of_pairs = f"{table.recipe.title}: paired differences"
            markdown.append(to_markdown(compared, title=title_of_pairs, facts=[EXPLANATION]))
        pool = pooled(table, data_dir=data_dir) if pools else None
        if pool is not None:
            markdown.append(to_markdown(pool, title=f"{table.recipe.title}: pooled over replicates", facts=[POOLED]))
        label = table.recipe.source or table.name
        path = folder / f"{table.name}.tex"
        write_text(path, to_latex(grid, title=table.recipe.title, facts=said, label=label))
        runs = folder / f"{table.name}.csv"
        write_text(runs, to_csv(table))
        written += [path, runs]
    write_text(folder / "report.md", "\n".join(markdown))
    write_text(folder / "report.html", page)
    return [folder / "report.html", folder / "report.md", *written]
