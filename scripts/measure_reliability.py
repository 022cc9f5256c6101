"""Measure what docs/reliability.md shows, into docs/_data/reliability.json; `make tables` draws the page from that.

python scripts/measure_reliability.py errors            # against 50 digits, some minutes; or of the layers named
python scripts/measure_reliability.py fuzz counts.json  # what `python -m spdnorm.testing.fuzz --json` wrote
python scripts/measure_reliability.py tests report.xml  # what `pytest --junitxml` wrote, of the slow tests
"""

from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from tests.fuzz.oracle import LAYERS, error

from spdnorm.testing.fuzz import Case

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "docs" / "_data" / "reliability.json"
#: What the errors are the worst of.
SIZE, BATCH = 4, 6
KINDS = ("generic", "near_ties", "one_far")
DECADES = tuple(range(16))
DTYPES = (torch.float32, torch.float64)
#: Slow tests whose outcome the page shows.
TESTS = ("test_sync", "test_launchers", "test_faults", "test_runs", "test_long_run", "test_concurrency")


def errors(names: list[str]) -> dict[str, Any]:
    """Layer -> dtype -> the worst error at each power of ten of the condition number; None where all were refused."""
    found: dict[str, Any] = {}
    for name in names or LAYERS:
        for dtype in DTYPES:
            row = [_worst(name, dtype, 10.0**decade) for decade in DECADES]
            found.setdefault(name, {})[str(dtype).removeprefix("torch.")] = row
            print(name, dtype, *("–" if e is None else f"{e:.0e}" for e in row), flush=True)
    return found


def _worst(name: str, dtype: torch.dtype, condition: float) -> float | None:
    options: dict[str, Any] = {"n": SIZE, "batch": BATCH, "dtype": dtype, "condition": condition, "scale": 1.0}
    values = [error(name, Case(seed=seed, kind=kind, **options)) for seed, kind in enumerate(KINDS)]
    finite = [value for value in values if not math.isnan(value)]
    return float(f"{max(finite):.3g}") if finite else None


def outcomes(files: list[str]) -> dict[str, Any]:
    """Test -> outcome, seconds, and the numbers that it recorded."""
    found = {}
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            module = case.get("classname", "").rpartition(".")[2]
            if module in TESTS:
                failed = any(case.find(kind) is not None for kind in ("failure", "error", "skipped"))
                numbers = {p.get("name"): p.get("value") for p in case.iter("property")}
                seconds = round(float(case.get("time", "0")), 1)
                found[f"{module}.{case.get('name')}"] = {"passed": not failed, "seconds": seconds, **numbers}
    return found


def main(part: str, *files: str) -> None:
    measured = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if part == "errors":
        torch.set_num_threads(1)
        layers = {**measured.get("errors", {}).get("layers", {}), **errors(list(files))}
        about = {"size": SIZE, "batch": BATCH, "kinds": KINDS, "decades": DECADES}
        measured["errors"] = {**about, "layers": layers}
    elif part == "fuzz":
        measured["fuzz"] = json.loads(Path(files[0]).read_text(encoding="utf-8"))
    elif part == "tests":
        measured["tests"] = {**measured.get("tests", {}), **outcomes(list(files))}
    else:
        raise SystemExit(f"unknown part {part!r}: choose from errors, fuzz, tests")
    FILE.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
