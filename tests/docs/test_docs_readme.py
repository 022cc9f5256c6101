"""README and CONTRIBUTING: links lead to files, the generated parts are there, the parts' scripts do what they say."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import make_readme  # noqa: E402
from readme import measured  # noqa: E402

from spdnorm.bench import Table, Timing  # noqa: E402
from spdnorm.bench.output import write_json  # noqa: E402

README = (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_to_files(name: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text())
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_part_is_generated() -> None:
    for name in make_readme.PARTS:
        (content,) = re.findall(rf"<!-- generated: {name} -->\n(.*?)<!-- end of {name} -->", README, re.DOTALL)
        assert content.strip(), f"run python scripts/make_readme.py {name}"


def test_the_picture_is_small() -> None:
    assert (ROOT / make_readme.PICTURE).stat().st_size < 200_000


def test_results_and_speed_are_those_of_the_files() -> None:
    for name, render in (("results", measured.results), ("speed", measured.speed)):
        assert make_readme.fill(README, name, render(ROOT)) == README, f"run python scripts/make_readme.py {name}"


def test_tables_come_from_files(tmp_path: Path) -> None:
    assert "run yet" in measured.results(tmp_path)
    results = tmp_path / "docs" / "results"
    results.mkdir(parents=True)
    (results / "mamem_acc.md").write_text("## Accuracy\n\ntext\n\n| a | b |\n| --- | ---: |\n| x | 1 |\n\n| other |\n")
    assert "| x | 1 |" in measured.results(tmp_path)
    assert "other" not in measured.results(tmp_path)
    assert "Not measured" in measured.speed(tmp_path)
    speeds = tmp_path / "benchmarks" / "results" / "cpu" / "timings.json"
    facts = {"dtype": "float64", "processor": "Abacus", "rounds": 9, "packages": {"torch": "2", "spd-learn": "1"}}
    timed = Table("Layers", "Note.", None, {"batch 3, n 2": {"GBWBN": Timing(1.5, 1.4, 1.6)}})
    write_json([timed], facts, speeds)
    assert "| ms, forward + backward | batch 3, n 2 |\n| --- | --- |\n| GBWBN | 1.5 |" in measured.speed(tmp_path)
    assert "one thread of an Abacus, medians of 9 turns; torch 2, spd-learn 1." in measured.speed(tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_table_of_features_is_what_the_packages_do() -> None:
    assert make_readme.fill(README, "features", make_readme.PARTS["features"]()) == README
