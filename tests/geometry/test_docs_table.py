"""docs/geometry.md is what the code does: its words are the script's, its numbers come again."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from oracles import compare

ROOT = Path(__file__).parents[2]
#: Errors are sums of roundings, and differ so much between machines and their LAPACKs.
MACHINES = 30.0


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "scripts" / "make_tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load("geometry")


@pytest.fixture(scope="module")
def page(script: ModuleType) -> str:
    return (ROOT / script.PATH).read_text(encoding="utf-8")


def table(page: str, header: list[str]) -> list[list[str]]:
    """Cells of the table with this header."""
    lines = page.splitlines()
    start = lines.index("| " + " | ".join(header) + " |")
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def number(cell: str) -> float | None:
    return None if cell == "–" else float(cell.partition(" ")[0])


def test_words_and_rows(script: ModuleType, page: str) -> None:
    stale = "docs/geometry.md is stale: run `make tables`"
    assert page.startswith(script.HEAD), stale
    assert script.TRANSPORT in page, stale
    rows = table(page, script.header())
    assert [r[:2] for r in rows] == [[m, o] for m in compare.metrics() for o in compare.OPERATORS], stale
    assert len(table(page, script.transport_header())) == len(script.TRANSPORT_CONDITIONS), stale


def test_what_the_page_promises(script: ModuleType, page: str) -> None:
    """At condition number 1e8 nothing is further from the exact result than it says, and every peer has its column."""
    rows = table(page, script.header())
    exact = {(r[0], r[1]): number(r[3]) for r in rows}
    assert sum(e is not None for e in exact.values()) > 0.9 * len(rows)
    assert all(e <= compare.allowed(*row, 1e8) for row, e in exact.items() if e is not None)
    for column in range(4, len(script.header())):
        assert any(r[column] != "–" for r in rows)


@pytest.mark.parametrize("name", ["aim", "lcm", "bwm", "bwm theta=0.25"])
def test_numbers_come_again(script: ModuleType, page: str, name: str) -> None:
    stated = {tuple(r[:2]): r for r in table(page, script.header())}
    for operator in ("inner", "distance", "exp", "log", "geodesic"):
        cells = stated[name, operator]
        for column, condition in zip((2, 3), script.CONDITIONS, strict=True):
            row = compare.row(name, operator, condition)
            said = number(cells[column])
            assert row.against_truth is not None
            assert said is not None
            assert row.against_truth <= MACHINES * max(said, 1e-15), f"{operator} at {condition:g}"
            assert said <= MACHINES * max(row.against_truth, 1e-15), f"{operator} at {condition:g}"


def test_transport_numbers_come_again(script: ModuleType, page: str) -> None:
    for cells, condition in zip(
        table(page, script.transport_header())[:3], script.TRANSPORT_CONDITIONS[:3], strict=True
    ):
        for said, steps in zip(cells[1:4], script.STEPS[:3], strict=True):
            # An error of truncation, hardly one of rounding.
            assert script.transport_error(condition, steps) == pytest.approx(float(said), rel=0.6), f"{steps} steps"
