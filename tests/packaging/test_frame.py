"""The frame: extras, pins, citation, the two commands, the rooms."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import tomllib
from typing import Any

import pytest
import yaml
from isolated import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import spdnorm


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_extras_and_pins(project: dict[str, Any]) -> None:
    """``[all]`` is every extra for users; CI's constraints pin everything that is declared."""
    extras = project["project"]["optional-dependencies"]
    assert {"eeg", "sklearn", "experiments", "figures", "all", "dev"} <= set(extras)
    (everything,) = (Requirement(r) for r in extras["all"])
    assert everything.extras | {"all", "dev"} >= {e for e in extras if e != "docs"}
    stated = itertools.chain(project["project"]["dependencies"], *extras.values())
    declared = [r for r in map(Requirement, stated) if r.name != "spdnorm"]
    pinned = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pin = Requirement(line)
            pinned[canonicalize_name(pin.name)] = str(pin.specifier)
    assert all(specifier.startswith("==") for specifier in pinned.values())
    assert pinned["torch"] == pinned["torchaudio"] == "==2.11.0"
    names = {canonicalize_name(r.name) for r in declared}
    assert names <= set(pinned), f"constraints.txt does not pin {sorted(names - set(pinned))}"
    for requirement in declared:
        version = pinned[canonicalize_name(requirement.name)].removeprefix("==")
        assert version in requirement.specifier, f"{requirement} excludes the pinned {version}"


def test_what_users_install_is_bounded(project: dict[str, Any]) -> None:
    """Below the next major version: rich's and dask's are no promise of breakage."""
    extras = project["project"]["optional-dependencies"]
    users = [r for name, part in extras.items() if name not in ("docs", "dev") for r in part]
    for requirement in map(Requirement, [*project["project"]["dependencies"], *users]):
        if requirement.name not in ("spdnorm", "rich", "dask"):
            operators = {clause.operator for clause in requirement.specifier}
            assert operators == {">=", "<"}, requirement


def test_version_and_citation(project: dict[str, Any]) -> None:
    assert spdnorm.__version__ == project["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = citation["preferred-citation"]
    assert paper["title"] == "Learning to Normalize on the SPD Manifold under Bures-Wasserstein Geometry"
    assert paper["year"] == 2025
    assert [a["family-names"] for a in paper["authors"]] == ["Wang", "Jin", "Chen", "Luo", "Wu"]
    assert citation["license"] == project["project"]["license"] == "BSD-3-Clause"
    assert "Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_two_commands(project: dict[str, Any]) -> None:
    """``make demo`` and ``make test`` stand on the README's first screen; what they run is what they promise."""
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    for command in ("make demo", "make test"):
        assert any(line.removeprefix("$ ").startswith(command) for line in first_screen), (
            f"{command} is not on the first screen"
        )
    # Without the environment's MAKEFLAGS, should the tests run under make.
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", "test"], cwd=ROOT, capture_output=True, text=True, check=True, env=clean
    ).stdout
    steps = ["-m venv", "--constraint constraints.txt", "[all,dev]", "ruff check", "ruff format --check", "mypy"]
    places = [planned.index(step) for step in (*steps, "lint-imports", "-m pytest")]
    assert places == sorted(places)
    assert "--durations" in project["tool"]["pytest"]["ini_options"]["addopts"]
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_every_room_has_its_layer(project: dict[str, Any]) -> None:
    (contract,) = (c for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    layered = {m.strip().removeprefix("spdnorm.") for layer in contract["layers"] for m in layer.split("|")}
    package = ROOT / "src" / "spdnorm"
    rooms = {p.name for p in package.iterdir() if (p / "__init__.py").exists()} | {
        p.stem for p in package.glob("*.py") if not p.stem.startswith("__")
    }
    assert layered == rooms
