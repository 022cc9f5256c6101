"""What has to be said with a table: protocols, seeds, commits, machines, and what is not there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..files import read_json
from ..readings import Protocol
from ..table import Table
from .choices import choices

__all__ = ["facts"]

READINGS: dict[Protocol, str] = {
    "paper": "Protocol “paper”: {}.",
    "released": "Protocol “released” (what the authors' published script prints as test accuracy): {}.",
}


def facts(table: Table) -> list[str]:
    """Return the sentences that go below a table."""
    results = table.results()
    lines = [table.recipe.notes] if table.recipe.notes else []
    if table.left_out:
        lines.append(f"Not run, since the data are not at hand: {_list(table.left_out)}.")
    if not results:
        return [*lines, "No run of this table is done yet."]
    if table.quick:
        lines.append("Quick form: it shows that everything works, and ranks nothing.")
    if table.overrides:
        lines.append("Changed: " + ", ".join(f"{key} = {value}" for key, value in table.overrides.items()) + ".")
    if table.recipe.layout != "conditions":
        lines.append(" ".join(READINGS[name].format(_reading(results, name)) for name in table.recipe.protocols))
        lines.append(
            "± is the standard deviation over replicates (seeds or folds) of the average over members (subjects)."
        )
        lines += _member_spreads(table)
        lines += choices(table)
    seeds = sorted({result["seed"] for result in results})
    epochs = sorted({result["config"]["train"]["epochs"] for result in results})
    lines.append(f"Seeds {_list(seeds)}; {_list(epochs)} epochs; {len(results)} of {len(table.places)} runs done.")
    lines.append(_environments(table))
    return lines


def _reading(results: list[dict[str, Any]], protocol: str) -> str:
    ways = {
        f"{reading['selection']}, {reading['part']} part, averaged over {reading['average']}"
        for result in results
        if (reading := result["readings"].get(protocol))
    }
    return " or ".join(sorted(ways)) or "no reading"


def _member_spreads(table: Table) -> list[str]:
    """Say how far members lie apart, which published tables may mean by ±."""
    lines = []
    for column in table.recipe.columns:
        cells = [(row.label, table.cell(row.key, column.key, "paper")) for row in table.recipe.rows]
        found = [f"{label} {cell.member_std:.2f}" for label, cell in cells if cell and cell.member_std is not None]
        if found:
            lines.append(f"Standard deviation over members instead, {column.label}, “paper”: {', '.join(found)}.")
    return lines


def _environments(table: Table) -> str:
    found = []
    for place in table.places:
        file = table.folder(place).environment_file
        if table.result(place) is not None and file.is_file():
            found.append(read_json(file))
    commits = sorted({str(entry["commit"] or entry["spdnorm"]) for entry in found})
    machines = sorted({f"{entry['processor']}, {entry['threads']} thread(s) a run" for entry in found})
    torches = sorted({entry["packages"]["torch"] for entry in found})
    text = f"Commit {_list(commits)}; torch {_list(torches)}; {_list(machines)}."
    if len(commits) > 1:
        text += " The rows come from more than one state of the code."
    return text


def _list(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in values)
