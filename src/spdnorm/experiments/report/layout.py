"""From a table of runs to a grid of texts in the paper's layout, the paper's number beside ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..readings import Protocol
from ..recipe import Row
from ..table import Cell, Table

__all__ = ["Grid", "Text", "describe", "layout"]

EMPTY = "–"


@dataclass(frozen=True)
class Text:
    """One cell of a rendered table; ``best`` is bold, ``hint`` says more, ``published`` is another's number."""

    text: str
    best: bool = False
    hint: str = ""
    published: bool = False


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A rendered table: headers in two levels (group, own), and labelled rows."""

    row_title: str
    header: list[tuple[str, str]]
    labels: list[str]
    body: list[list[Text]]

    def transposed(self, row_title: str) -> Grid:
        """Return the table with rows and columns exchanged; groups become part of the row's label."""
        labels = [f"{group}: {own}" if group else own for group, own in self.header]
        body = [list(column) for column in zip(*self.body, strict=True)]
        return Grid(row_title=row_title, header=[("", label) for label in self.labels], labels=labels, body=body)


def layout(table: Table) -> Grid:
    """Return the grid of a table's finished part."""
    if table.recipe.layout == "conditions":
        return _conditions(table)
    grid = _accuracies(table)
    return grid.transposed("") if table.recipe.layout == "transposed" else grid


def _accuracies(table: Table) -> Grid:
    rows = [row for row in table.recipe.rows if _has_runs(table, row=row.key)]
    # What is published stays to be seen where the data are not at hand; the quick form has columns of its own.
    columns = [
        column
        for column in table.recipe.columns
        if _has_runs(table, column=column.key) or (not table.quick and any(column.key in row.paper for row in rows))
    ]
    header: list[tuple[str, str]] = []
    stripes: list[list[Text]] = []
    for column in columns:
        published = [_published(row, column.key) for row in rows]
        if any(cell.text != EMPTY for cell in published):
            header.append((column.label, "published"))
            stripes.append(published)
        computed = _has_runs(table, column=column.key)
        for protocol in table.recipe.protocols_of(column) if computed else ():
            header.append((column.label, f"ours, protocol “{protocol}”"))
            stripes.append(_ours(table, rows, column.key, protocol))
        if column.time and any(column.key in row.paper_seconds for row in rows):
            header.append((column.label, "published s/epoch"))
            stripes.append([Text(_seconds(row.paper_seconds.get(column.key)), published=True) for row in rows])
        if computed:
            header.append((column.label, "ours s/epoch"))
            stripes.append([Text(_seconds(_cell_seconds(table, row.key, column.key))) for row in rows])
    return Grid(
        row_title=table.recipe.row_title,
        header=header,
        labels=[row.label for row in rows],
        body=[list(line) for line in zip(*stripes, strict=True)],
    )


def _ours(table: Table, rows: list[Row], column: str, protocol: Protocol) -> list[Text]:
    cells = [table.cell(row.key, column, protocol) for row in rows]
    present = [cell for cell in cells if cell is not None]
    top = max((cell.mean for cell in present), default=None)
    # A single row has nothing to be best of, and a quick form ranks nothing.
    ranked = len(present) > 1 and not table.quick
    return [
        Text(EMPTY) if cell is None else Text(_number(cell), ranked and cell.mean == top, describe(cell))
        for cell in cells
    ]


def describe(cell: Cell) -> str:
    """Say what a cell's number is made of."""
    parts = [f"{cell.replicates} replicate" + ("s" if cell.replicates > 1 else "")]
    if cell.members > 1:
        parts.append(f"{cell.members} members each")
    if cell.member_std is not None:
        parts.append(f"± {cell.member_std:.2f} over members")
    if cell.missing:
        parts.append(f"{cell.missing} runs not done")
    return ", ".join(parts)


def _number(cell: Cell) -> str:
    return f"{cell.mean:.2f}" if cell.std is None else f"{cell.mean:.2f} ± {cell.std:.2f}"


def _published(row: Row, column: str) -> Text:
    if column not in row.paper:
        return Text(EMPTY)
    average, spread = row.paper[column]
    return Text(f"{average:.2f} ± {spread:.2f}", published=True)


def _seconds(value: float | None) -> str:
    if value is None:
        return EMPTY
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _cell_seconds(table: Table, row: str, column: str) -> float | None:
    found = [result["seconds_per_epoch"] for place in table.runs(row, column) if (result := table.result(place))]
    return sum(found) / len(found) if found else None


def _has_runs(table: Table, *, row: str | None = None, column: str | None = None) -> bool:
    return any(
        (row is None or place.row == row) and (column is None or place.column == column) and table.result(place)
        for place in table.places
    )


def _conditions(table: Table) -> Grid:
    """Counts above each threshold, without, before and after the layer, for each row and epoch."""
    without, layered = (column.key for column in table.recipe.columns[:2])
    grid = Grid(row_title=table.recipe.row_title, header=[], labels=[], body=[])
    for row in table.recipe.rows:
        plain, norm = (_condition_results(table, row.key, column) for column in (without, layered))
        for epoch in sorted({*plain, *norm}, key=int):
            line = _condition_line(plain.get(epoch), norm.get(epoch))
            thresholds = list(line)
            if not grid.header:
                places = ("without", "before", "after")
                header = [(f"κ > {_power(name)}", place) for name in thresholds for place in places]
                grid = replace(grid, header=header)
            grid.labels.append(f"{row.label}, epoch {epoch}")
            grid.body.append([text for name in thresholds for text in line[name]])
            if epoch in row.paper_counts:
                grid.labels.append(f"{row.label}, epoch {epoch}, published")
                counts = row.paper_counts[epoch]
                grid.body.append([Text(f"{count:,}", published=True) for name in thresholds for count in counts[name]])
    return grid


def _condition_results(table: Table, row: str, column: str) -> dict[str, Any]:
    """Sum the counts of a cell's runs, by epoch."""
    total: dict[str, Any] = {}
    for place in table.runs(row, column):
        for epoch, places in ((table.result(place) or {}).get("conditions") or {}).items():
            entry = total.setdefault(epoch, {})
            for name, summary in places.items():
                here = entry.setdefault(name, {"samples": 0, "above": {}})
                here["samples"] += summary["samples"]
                for threshold, count in summary["above"].items():
                    here["above"][threshold] = here["above"].get(threshold, 0) + count
    return total


def _condition_line(plain: dict[str, Any] | None, norm: dict[str, Any] | None) -> dict[str, list[Text]]:
    sources = [plain and plain["before"], norm and norm["before"], norm and norm["after"]]
    names = next(source["above"] for source in sources if source)
    return {name: [_share(source, name) for source in sources] for name in names}


def _share(source: dict[str, Any] | None, name: str) -> Text:
    if not source:
        return Text(EMPTY)
    count, samples = source["above"][name], source["samples"]
    return Text(f"{count:,} ({100 * count / samples:.1f}%)")


def _power(name: str) -> str:
    return "10" + "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in str(int(name.partition("e")[2])))
