"""One self-contained HTML page: tables and learning curves, no script, nothing to fetch."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from ..table import Table
from .comparisons import EXPLANATION, against
from .curves import Curve, curves
from .facts import facts
from .layout import Grid, Text, layout
from .pictures import embedded
from .svg import line_chart, style_of

__all__ = ["to_html"]

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --rule: #d8dee4; --paper: #fff; --card: #f6f8fa;
  --best: #0550ae; --note: #7d4e00; --note-paper: #fff8c5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --soft: #9198a1; --rule: #3d444d; --paper: #0d1117; --card: #151b23; --best: #79b8ff;
    --note: #e3b341; --note-paper: #2b2207; } }
* { box-sizing: border-box; }
body { font: 15px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 1400px; margin: 0 auto; padding: 1.5rem clamp(.8rem, 3vw, 2rem) 4rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h3 { font-size: 1rem; margin: 1.8rem 0 .4rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .8rem; padding-top: 1rem; border-top: 1px solid var(--rule); }
h2 code { font-size: .8rem; font-weight: 400; color: var(--soft); overflow-wrap: anywhere; }
nav a { color: var(--best); margin-right: 1.2rem; }
.badge { font-size: .75rem; font-weight: 600; color: var(--note); background: var(--note-paper); border-radius: 1rem;
  padding: .15rem .6rem; vertical-align: middle; white-space: nowrap; }
.wide { overflow-x: auto; border: 1px solid var(--rule); border-radius: 6px; width: fit-content; max-width: 100%; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
th, td { padding: .32rem .6rem; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
tbody tr:last-child > * { border-bottom: 0; } tbody tr:hover > * { background: var(--card); }
thead th { background: var(--card); font-weight: 600; }
th.own { font-weight: 400; color: var(--soft); white-space: normal; min-width: 5.5rem; max-width: 8.5rem;
  vertical-align: bottom; font-size: .87rem; line-height: 1.3; }
th.group { text-align: center; } .first { border-left: 1px solid var(--rule); }
th.label { text-align: left; font-weight: 500; position: sticky; left: 0; background: var(--paper); }
thead th.label { background: var(--card); font-weight: 600; vertical-align: bottom; }
td.best { font-weight: 700; color: var(--best); } td.published { color: var(--soft); }
@media (max-width: 600px) { th, td { padding: .3rem .5rem; font-size: .87rem; }
  th.label { white-space: normal; max-width: 38vw; overflow-wrap: anywhere; } }
.facts { color: var(--soft); font-size: .9rem; max-width: 80ch; } .facts p { margin: .45rem 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); gap: 1rem; }
.charts > svg { width: 100%; max-width: 560px; }
svg .title { font: 600 14px system-ui, sans-serif; fill: var(--ink); }
svg .tick { font: 12px system-ui, sans-serif; fill: var(--soft); } svg .grid { stroke: var(--rule); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; padding: 0; margin: .4rem 0 .8rem;
  font-size: .88rem; }
.legend svg { width: 28px; height: 8px; margin-right: .4rem; vertical-align: middle; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 720px), 1fr)); gap: 1.5rem; }
figure { margin: 0; max-width: 1100px; }
figure img { width: 100%; background: #fff; border: 1px solid var(--rule); border-radius: 6px; }
figcaption { color: var(--soft); font-size: .9rem; }
"""

#: (title, axis label, metric, in percent); a chart is drawn where its numbers were recorded after every epoch.
CHARTS = (
    ("Training loss", "cross-entropy", "train_loss", False),
    ("Training accuracy", "accuracy", "train_accuracy", True),
    ("Validation accuracy", "accuracy", "validation_accuracy", True),
    ("Test accuracy", "accuracy", "test_accuracy", True),
)


def to_html(
    tables: Sequence[Table], *, title: str = "Results", figures: Sequence[Path] = (), reference: str | None = None
) -> str:
    """Return the page; pictures (PNG, SVG, JPEG, GIF) go into it whole, captioned by their file names.

    ``reference``: a row that is compared with every other one.
    """
    sections = "\n".join(_section(table, reference) for table in tables)
    links = "".join(f'<a href="#{escape(table.name)}">{escape(table.recipe.title)}</a>' for table in tables)
    nav = f"<nav>{links}</nav>\n" if len(tables) > 1 else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # An icon of its own keeps browsers from asking the server for one.
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n{nav}"
        f"{sections}\n{embedded(figures)}</body>\n</html>\n"
    )


def _section(table: Table, reference: str | None) -> str:
    name = escape(table.name)
    said = "".join(f"<p>{escape(line)}</p>" for line in facts(table))
    badge = ' <span class="badge">quick form: no ranking</span>' if table.quick else ""
    return (
        f'<section id="{name}">\n<h2>{escape(table.recipe.title)} <code>{name}</code>{badge}</h2>\n'
        f'<div class="wide">{_table(layout(table))}</div>\n<div class="facts">{said}</div>\n'
        f"{_paired(table, reference)}{_charts(table)}</section>"
    )


def _paired(table: Table, reference: str | None) -> str:
    compared = None if reference is None else against(table, reference)
    if compared is None:
        return ""
    said = f'<div class="facts"><p>{escape(EXPLANATION)}</p></div>'
    return f'<h3>Paired differences</h3>\n<div class="wide">{_table(compared)}</div>\n{said}\n'


def _table(grid: Grid) -> str:
    groups = [(group, len(list(members))) for group, members in groupby(grid.header, key=lambda entry: entry[0])]
    starts = {sum(count for _, count in groups[:i]) for i in range(len(groups))}
    own = "".join(f'<th class="own{_rule(i, starts)}">{escape(name)}</th>' for i, (_, name) in enumerate(grid.header))
    title = escape(grid.row_title)
    if any(group for group, _ in groups):
        top = "".join(f'<th class="group first" colspan="{count}">{escape(group)}</th>' for group, count in groups)
        head = f'<tr><th class="label" rowspan="2">{title}</th>{top}</tr><tr>{own}</tr>'
    else:
        head = f'<tr><th class="label">{title}</th>{own}</tr>'
    body = "".join(
        f'<tr><th class="label">{escape(label)}</th>'
        f"{''.join(_cell(cell, _rule(i, starts)) for i, cell in enumerate(cells))}</tr>"
        for label, cells in zip(grid.labels, grid.body, strict=True)
    )
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def _rule(column: int, starts: set[int]) -> str:
    return " first" if column in starts else ""


def _cell(cell: Text, rule: str) -> str:
    kind = " best" if cell.best else " published" if cell.published else ""
    hint = f' title="{escape(cell.hint)}"' if cell.hint else ""
    return f'<td class="{(kind + rule).strip()}"{hint}>{escape(cell.text)}</td>'


def _charts(table: Table) -> str:
    found = []
    for column in table.recipe.columns:
        drawn, shown = [], []
        for title, label, metric, percent in CHARTS:
            lines = curves(table, column.key, metric)
            # A test part is mostly looked at only where the validation loss improved: such points are no curve.
            whole = sum(len(line.points) for line in curves(table, column.key, "train_loss"))
            # One epoch is no curve either.
            long = any(len(line.points) > 1 for line in lines)
            if long and sum(len(line.points) for line in lines) == whole:
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
