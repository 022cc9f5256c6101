"""One self-contained HTML page: tables and learning curves, no script, nothing to fetch."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby

from ..table import Table
from .curves import Curve, curves
from .facts import facts
from .layout import Grid, Text, layout
from .svg import line_chart, style_of

__all__ = ["to_html"]

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --rule: #d1d9e0; --paper: #fff; --best: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --rule: #3d444d; --paper: #0d1117; --best: #79b8ff; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
h2 code { font-size: .85rem; color: var(--soft); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { font-weight: 600; } th.own { font-weight: 400; color: var(--soft); white-space: normal; max-width: 9rem; }
th:first-child { text-align: left; } th.group { text-align: center; }
td.best { font-weight: 700; color: var(--best); }
.facts { color: var(--soft); font-size: .9rem; } .facts p { margin: .3rem 0; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; } .charts svg { flex: 1 1 420px; max-width: 580px; }
svg .title { font: 600 13px system-ui, sans-serif; fill: var(--ink); }
svg .tick { font: 11px system-ui, sans-serif; fill: var(--soft); } svg .grid { stroke: var(--rule); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; font-size: .9rem; }
.legend svg { width: 28px; height: 8px; margin-right: .4rem; vertical-align: middle; }
"""

#: (title, axis label, metric, in percent); a chart is drawn where its numbers were recorded after every epoch.
CHARTS = (
    ("Training loss", "cross-entropy", "train_loss", False),
    ("Training accuracy", "accuracy", "train_accuracy", True),
    ("Validation accuracy", "accuracy", "validation_accuracy", True),
    ("Test accuracy", "accuracy", "test_accuracy", True),
)


def to_html(tables: Sequence[Table], *, title: str = "Results") -> str:
    """Return the page."""
    sections = "\n".join(_section(table) for table in tables)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # An icon of its own keeps browsers from asking the server for one.
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        f"{sections}\n</body>\n</html>\n"
    )


def _section(table: Table) -> str:
    name = escape(table.name)
    said = "".join(f"<p>{escape(line)}</p>" for line in facts(table))
    return (
        f'<section id="{name}">\n<h2>{escape(table.recipe.title)} <code>{name}</code></h2>\n'
        f'<div class="wide">{_table(layout(table))}</div>\n<div class="facts">{said}</div>\n{_charts(table)}</section>'
    )


def _table(grid: Grid) -> str:
    groups = [(group, len(list(members))) for group, members in groupby(grid.header, key=lambda entry: entry[0])]
    top = "".join(f'<th class="group" colspan="{count}">{escape(group)}</th>' for group, count in groups)
    own = "".join(f'<th class="own">{escape(name)}</th>' for _, name in grid.header)
    body = "".join(
        f"<tr><th>{escape(label)}</th>{''.join(_cell(cell) for cell in cells)}</tr>"
        for label, cells in zip(grid.labels, grid.body, strict=True)
    )
    head = f"<tr><th>{escape(grid.row_title)}</th>{top}</tr><tr><th></th>{own}</tr>"
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _cell(cell: Text) -> str:
    best = ' class="best"' if cell.best else ""
    hint = f' title="{escape(cell.hint)}"' if cell.hint else ""
    return f"<td{best}{hint}>{escape(cell.text)}</td>"


def _charts(table: Table) -> str:
    found = []
    for column in table.recipe.columns:
        drawn, shown = [], []
        for title, label, metric, percent in CHARTS:
            lines = curves(table, column.key, metric)
            # A test part is mostly looked at only where the validation loss improved: such points are no curve.
            whole = sum(len(line.points) for line in curves(table, column.key, "train_loss"))
            if lines and sum(len(line.points) for line in lines) == whole:
                drawn.append(line_chart(lines, title=title, y_label=label, percent=percent))
                shown = lines
        if drawn:
            found.append(f"<h3>{escape(column.label)}</h3>{_legend(shown)}<div class='charts'>{''.join(drawn)}</div>")
    return "\n".join(found)


def _legend(lines: Sequence[Curve]) -> str:
    entries = []
    for index, line in enumerate(lines):
        colour, dash = style_of(index)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        stroke = (
            f'<svg viewBox="0 0 28 8"><line x2="28" y1="4" y2="4" stroke="{colour}" stroke-width="2"{dashed}/></svg>'
        )
        entries.append(f"<li>{stroke}{escape(line.label)}</li>")
    return f'<ul class="legend">{"".join(entries)}</ul>'
