"""docs/reliability.md is what was measured, and what was measured is what is promised."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from spdnorm.testing.fuzz import KINDS, TARGETS

ROOT = Path(__file__).parents[2]
STALE = "docs/reliability.md is stale: run `make tables`"


@pytest.fixture(scope="module")
def table():
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "scripts" / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load("reliability")


@pytest.fixture(scope="module")
def measured(table):
    return json.loads(table.MEASURED.read_text(encoding="utf-8"))


def test_the_page_is_what_was_measured(table, measured):
    assert (ROOT / table.PATH).read_text(encoding="utf-8") == table.page(measured), STALE
    assert (ROOT / table.FIGURE).is_file()


def test_errors_are_below_the_bound(table, measured):
    errors, compared = measured["errors"], 0
    for name, rows in errors["layers"].items():
        for dtype in table.DTYPES:
            for decade, error in zip(errors["decades"], rows[dtype], strict=True):
                limit = table.bound(dtype, 10.0**decade, errors["size"])
                if error is not None and limit < float("inf"):
                    # An order of magnitude below it.
                    assert error < 0.1 * limit, (name, dtype, decade)
                    compared += 1
                # Whoever refuses does so where rounding may have made the samples singular.
                assert error is not None or limit == float("inf"), (name, dtype, decade)
    assert compared > 100


def test_the_fuzzing_was_the_whole_of_it(measured):
    fuzz = measured["fuzz"]
    assert fuzz["matrices"] >= 1_000_000
    assert fuzz["violations"] == 0
    assert set(fuzz["tried"]) == set(TARGETS)
    assert {kind.partition(" ")[0] for kind in fuzz["kinds"]} == set(KINDS)
    # Nothing is refused as a rule, but for parameters that leave the dtype's range.
    for target, tried in fuzz["tried"].items():
        if not target.startswith("extreme"):
            assert fuzz["refused"].get(target, 0) < 0.75 * tried, target


def test_a_test_that_failed_is_not_shown(table, measured):
    tests = {key: {**entry, "passed": False} for key, entry in measured["tests"].items()}
    with pytest.raises(SystemExit, match="not measured, or failed"):
        table.page({**measured, "tests": tests})
    with pytest.raises(SystemExit, match="not measured, or failed"):
        table.page({**measured, "tests": {}})
