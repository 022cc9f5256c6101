"""Tables of timings as Markdown, JSON and a plot."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spdnorm.bench.tables import Table


def _cell(table: Table, row: str, contender: str) -> str:
    timing = table.rows[row].get(contender)
    if timing is None:
        return "–"
    base = table.rows[row].get(table.reference or "")
    ratio = "" if base is None or contender == table.reference else f" ({timing.median / base.median:.2f})"
    return f"{timing}{ratio}"


def markdown(table: Table) -> str:
    """A table with a row for each contender; ratios to the reference in brackets.

    Examples
    --------
    >>> from spdnorm.bench import Table, Timing
    >>> from spdnorm.bench.output import markdown
    >>> print(markdown(Table("T", "Note.", None, {"n 3": {"a": Timing(1.0, 1.0, 1.0)}})))
    ### T
    <BLANKLINE>
    Note.
    <BLANKLINE>
    | | n 3 |
    |---|---|
    | a | 1 |
    """
    contenders = list(dict.fromkeys(name for row in table.rows.values() for name in row))
    note = table.note + (f" In brackets: ratio to {table.reference}." if table.reference else "")
    lines = [f"### {table.title}", "", note, "", "| | " + " | ".join(table.rows) + " |"]
    lines.append("|---" * (len(table.rows) + 1) + "|")
    lines += [f"| {name} | " + " | ".join(_cell(table, row, name) for row in table.rows) + " |" for name in contenders]
    return "\n".join(lines)


def write_json(tables: list[Table], facts: dict[str, Any], path: Path) -> None:
    """All timings, with what they were measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"measured on": facts, "tables": [asdict(table) for table in tables]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def plot(tables: list[Table], path: Path) -> None:
    """Bars of each table, a logarithmic axis of milliseconds, quartiles as whiskers; needs matplotlib."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(len(tables), 1, figsize=(9, 3.2 * len(tables)), squeeze=False, layout="constrained")
    for axis, table in zip(axes[:, 0], tables, strict=True):
        contenders = list(dict.fromkeys(name for row in table.rows.values() for name in row))
        width = 0.8 / len(contenders)
        for k, name in enumerate(contenders):
            timings = [row.get(name) for row in table.rows.values()]
            at = [i + (k - (len(contenders) - 1) / 2) * width for i in range(len(timings))]
            middle = [math.nan if t is None else t.median for t in timings]
            low = [0.0 if t is None else t.median - t.low for t in timings]
            high = [0.0 if t is None else t.high - t.median for t in timings]
            axis.bar(at, middle, width, yerr=[low, high], label=name)
        axis.set(title=table.title, yscale="log", ylabel=table.unit, xticks=range(len(table.rows)))
        axis.set_xticklabels(list(table.rows))
        axis.legend(fontsize=7, ncols=3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
