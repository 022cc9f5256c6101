"""docs/datasets.md says what the data say."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import spdnorm.datasets as datasets

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "datasets.md").read_text()


def load_script(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / "datasets" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


conditioning = load_script("conditioning")


@pytest.mark.parametrize("name", conditioning.SETS)
def test_the_table_of_ranks_and_condition_numbers(name, data_dir):
    (written,) = re.findall(rf"^\| `{name}` \| \d+ \|.*$", TEXT, flags=re.MULTILINE)
    computed = conditioning.row(name, data_dir)

    def numbers(line: str) -> list[float]:
        return [float(text) for text in re.findall(r"(?<=[ |])(?:inf|\d[\d.e+]*)", line.partition("` |")[2])]

    assert len(numbers(written)) == 10
    # Eigenvalues near the tolerance may fall on either side of it on another machine.
    assert numbers(computed) == pytest.approx(numbers(written), rel=0.02, abs=0.2)


def test_every_name_is_in_the_table():
    listed = set(re.findall(r"^\| `([a-z0-9-]+)` \|", TEXT, flags=re.MULTILINE))
    assert set(datasets.names()) <= listed


def test_the_first_example_runs(data_dir, monkeypatch):
    monkeypatch.setenv("SPDNORM_DATA", str(data_dir))
    example = re.search(r"```python\n(.*?)```", TEXT, flags=re.DOTALL).group(1)
    names: dict[str, object] = {}
    exec(example, names)
    assert tuple(names["x"].shape) == (300, 8, 8)


@pytest.mark.parametrize("files", [150, pytest.param(2000, marks=pytest.mark.slow)])
def test_the_conversion_stays_within_its_memory(files):
    # All processes together, the command's and its workers': it does not grow with the number of files.
    script = ROOT / "benchmarks" / "datasets" / "skeleton_conversion.py"
    command = [sys.executable, str(script), "--files", str(files), "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert 60 < result["peak_rss_sum_mb"] < 300
    assert result["files_per_processor_second"] > 20
