"""The tables of results and speed in README.md, out of the files that the runs wrote; nothing where there are none."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

#: Recipes whose tables are shown, in this order, as far as they were run.
RESULTS = ("mamem_acc", "combined_acc", "bwm_comparison", "lambda_comparison", "demo")


def results(root: Path) -> str:
    """The first table of each docs/results/NAME.md that ``spdnorm report`` wrote."""
    parts = []
    for name in RESULTS:
        for path in (root / "docs" / "results" / f"{name}.md", root / "docs" / "results" / name / "report.md"):
            if path.is_file():
                parts.append(_first_table(path, root))
                break
    return "\n\n".join(parts) or "No table was run yet: `spdnorm reproduce mamem_acc` runs one."


def _first_table(path: Path, root: Path) -> str:
    text = path.read_text(encoding="utf-8")
    title = re.search(r"^#+ (.*)$", text, re.MULTILINE)
    table = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    heading = f"**{title[1] if title else path.stem}** ([more]({path.relative_to(root)}))"
    return f"{heading}\n\n{table[0].strip() if table else ''}".strip()


def speed(root: Path) -> str:
    """benchmarks/results/readme.json: a list of {title, columns, rows, note}, written by the benchmarks."""
    path = root / "benchmarks" / "results" / "readme.json"
    if not path.is_file():
        return "Not measured on this version yet: `benchmarks/` has the scripts."
    return "\n\n".join(_table(entry) for entry in json.loads(path.read_text(encoding="utf-8")))


def _table(entry: dict[str, Any]) -> str:
    lines = [f"**{entry['title']}**", "", _line(entry["columns"]), _line(["---"] * len(entry["columns"]))]
    lines += [_line(row) for row in entry["rows"]]
    return "\n".join([*lines, "", entry.get("note", "")]).strip()


def _line(cells: list[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
