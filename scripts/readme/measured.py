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
    """The layers' table of benchmarks/results/cpu/timings.json, as ``spdnorm bench --out`` wrote it."""
    path = root / "benchmarks" / "results" / "cpu" / "timings.json"
    if not path.is_file():
        return "Not measured on this version yet: `spdnorm bench layers` does."
    written = json.loads(path.read_text(encoding="utf-8"))
    facts = written["measured on"]
    (table,) = (t for t in written["tables"] if t["title"] == "Layers")
    sizes = list(table["rows"])
    lines = [_line(["ms, forward + backward", *sizes]), _line(["---"] * (len(sizes) + 1))]
    for contender in table["rows"][sizes[0]]:
        lines.append(_line([contender, *(f"{table['rows'][size][contender]['median']:.3g}" for size in sizes)]))
    versions = ", ".join(f"{name} {facts['packages'][name]}" for name in ("torch", "spd-learn"))
    note = f"{facts['dtype']}, one thread of an {facts['processor']}, medians of {facts['rounds']} turns; {versions}."
    return "\n".join([*lines, "", note, "The whole account, with a GPU's figures: [benchmarks](benchmarks/README.md)."])


def _line(cells: list[Any]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"
