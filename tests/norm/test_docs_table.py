"""docs/normalisation.md is what the code does: its words are the script's, its cells come again.

Compilation and export, the slow columns, are laws of every suite that the table is made from.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STALE = "docs/normalisation.md is stale: run `make tables`"


def _load():
    spec = importlib.util.spec_from_file_location("make_tables", ROOT / "scripts" / "make_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load("norms")


norms = _load()
ROWS = [pytest.param(row, id=row.title) for row in norms.ROWS]


@pytest.fixture(scope="module")
def page():
    return (ROOT / norms.PATH).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def cells(page):
    """Title -> column -> cell."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    header, *rows = lines
    return {title: dict(zip(header[1:], row, strict=True)) for title, *row in rows}


def test_words_and_rows(page, cells):
    assert page.startswith(norms.HEAD), STALE
    assert page.endswith(norms.NOTES), STALE
    assert list(cells) == [row.title for row in norms.ROWS], STALE
    assert all(list(each) == list(norms.COLUMNS) for each in cells.values()), STALE


@pytest.mark.parametrize("row", ROWS)
def test_cells_come_again(cells, row):
    said = cells[row.title]
    for column in ("controls", "parameters", "eigh (train / eval)", "singular input"):
        assert norms.COLUMNS[column](row) == said[column], STALE
    found = norms.agreement(row)
    if found is None:
        assert said["agreement"] == "laws only", STALE
    else:
        number, against = said["agreement"].split(" ", 1)
        # Rounding differs between machines: what counts is the agreement itself.
        assert float(number) <= 1e-9
        assert found[0] <= 1e-9
        assert against == f"({found[1]})", STALE
    assert norms.float32(row) <= 30 * float(said["float32"]), STALE
    assert said["compile"] == said["export"] == "yes"


def test_every_suite_has_a_row():
    suites = {
        suite
        for suite in vars(norms.suites).values()
        if isinstance(suite, type) and issubclass(suite, norms.NormLaws) and suite is not norms.NormLaws
    }
    assert suites <= {row.suite for row in norms.ROWS}
