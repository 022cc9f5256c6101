"""The table of equations is complete: every numbered equation of the paper, every function there."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
sphinx = pytest.importorskip("sphinx", reason="needs the extra 'docs'")

from generated_pages import ROOMS  # noqa: E402
from paper_equations import load  # noqa: E402

ENTRIES = load()


def labels() -> dict[int, str]:
    lines = (DOCS / "_data" / "paper_labels.txt").read_text().splitlines()
    pairs = (line.split(" ", 1) for line in lines if line and not line.startswith("#"))
    return {int(number): label for number, label in pairs}


def test_every_label_of_the_paper_is_covered() -> None:
    # An equation without a label goes by its number: "-10".
    expected = {n: f"-{n}" if label == "-" else label for n, label in labels().items()}
    assert sorted(expected) == list(range(1, 51))
    assert {e["number"]: e["key"] for e in ENTRIES if e["number"]} == expected


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["key"])
def test_its_functions_exist_and_have_a_page(entry: dict) -> None:
    assert entry["functions"] or entry["note"], "an equation without a function says why"
    for name in entry["functions"]:
        room = max((r for r in ROOMS if name.startswith(f"{r}.")), key=len)
        module = importlib.import_module(f"spdnorm.{room}")
        first, *attributes = name.removeprefix(f"{room}.").split(".")
        assert first in module.__all__
        value = getattr(module, first)
        for attribute in attributes:
            value = getattr(value, attribute)
        assert inspect.getdoc(value), f"{name} has no docstring, hence no place to link to"


def test_every_equation_stands_on_a_theory_page() -> None:
    shown: set[str] = set()
    for page in (DOCS / "theory").glob("*.md"):
        for block in re.findall(r"```\{paper-equation\}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            shown |= set(block.split("\n"))
    assert shown - {""} == {e["key"] for e in ENTRIES}
