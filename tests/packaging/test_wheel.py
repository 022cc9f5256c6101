"""What a user installs: the wheel holds everything, and imports without the source tree and without the extras."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from email.parser import Parser
from pathlib import Path

from isolated import ROOT, Environment

PACKAGE = ROOT / "src" / "spdnorm"

# Imports every module that the installed package has, whether its parent can be imported or not.
IMPORT_ALL = """
import importlib, importlib.util, json, pathlib, sys
home = pathlib.Path(importlib.util.find_spec("spdnorm").origin).parent
names = sorted(".".join(p.relative_to(home.parent).with_suffix("").parts) for p in home.rglob("*.py"))
names = [n.removesuffix(".__init__") for n in names if not n.endswith("__main__")]
errors = {}
for name in names:
    try:
        importlib.import_module(name)
    except Exception as error:
        errors[name] = f"{type(error).__name__}: {error}"
print(json.dumps({"home": str(home), "names": names, "errors": errors}))
"""

#: Parts of the package that need an extra; all else imports with torch, numpy and geoopt alone.
OF_AN_EXTRA = {
    "spdnorm.estimators": ("sklearn",),
    "spdnorm.experiments": ("experiments",),
    "spdnorm.bench": ("experiments",),
    "spdnorm.figures": ("figures", "experiments"),
    "spdnorm.datasets.commands": ("experiments",),
    "spdnorm.testing.laws": ("dev",),
    "spdnorm.testing.norm_laws": ("dev",),
    "spdnorm.testing.needs_pytest": ("dev",),
}


def extras_of(module: str) -> tuple[str, ...]:
    return next((e for room, e in OF_AN_EXTRA.items() if f"{module}.".startswith(f"{room}.")), ())


def test_holds_every_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {n for n in archive.namelist() if ".dist-info/" not in n}
        metadata = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        stated = Parser().parsestr(archive.read(metadata).decode())
        licences = [n for n in archive.namelist() if n.endswith("LICENSE")]
    files = (p for p in PACKAGE.rglob("*") if p.is_file() and p.parent.name != "__pycache__")
    ours = {str(p.relative_to(PACKAGE.parent)) for p in files}
    assert inside == ours
    assert licences
    assert stated["License-Expression"] == "BSD-3-Clause"
    assert stated["Requires-Python"] == ">=3.11"
    assert {"eeg", "sklearn", "experiments", "figures", "all", "dev"} <= set(stated.get_all("Provides-Extra", []))
    core = [r for r in stated.get_all("Requires-Dist", []) if "extra ==" not in r]
    assert sorted(re.split("[<>]", r)[0] for r in core) == ["geoopt", "numpy", "torch"]


def test_every_module_imports(environment: Callable[[str], Environment]) -> None:
    python = environment("all")
    found = json.loads(python("-c", IMPORT_ALL).splitlines()[-1])
    assert Path(found["home"]).is_relative_to(python.python.parents[1]), "the source tree was imported, not the wheel"
    assert {"spdnorm", "spdnorm.linalg.spectral", "spdnorm.testing.laws.suite", "spdnorm.cli"} <= set(found["names"])
    assert found["errors"] == {}


def test_without_extras(environment: Callable[[str], Environment]) -> None:
    """With the required dependencies alone the core imports and works, and what needs an extra names it."""
    python = environment("core")
    found = json.loads(python("-c", IMPORT_ALL).splitlines()[-1])
    for name in found["names"]:
        error = found["errors"].get(name)
        # A module of an extra may import without it, when it asks on use; when it does not, it says what to do.
        advice = tuple(f"pip install 'spdnorm[{extra}]'" for extra in extras_of(name))
        assert error is None or any(a in error for a in advice), f"{name}: {error}"
    assert found["errors"], "nothing is missing: the environment is not bare"
    said = python("-c", "import spdnorm.geometry as g, torch; print(float(g.get('bwm').distance(*[torch.eye(3)] * 2)))")
    assert float(said) < 1e-7
    assert python("-m", "spdnorm", "--version").startswith("spdnorm ")
    refused = python("-m", "spdnorm", "data", "list", fails=True)
    assert "pip install 'spdnorm[experiments]'" in refused
    assert "Traceback" not in refused


THIRD_PARTY = """
import torch
from spdnorm.geometry import Chart, Euclidean, Metric, Pullback
from spdnorm.linalg import SQRT, Power, derivative, powm, sqrtm
from spdnorm.testing import MetricLaws


class Root(Chart):
    def forward(self, x): return sqrtm(x)
    def inverse(self, y): return powm(y, 2)
    def push(self, x, u): return derivative(x, SQRT, u)
    def pull(self, y, v): return derivative(y, Power(2.0), v)


class RootEuclidean(Pullback):
    allows_singular = True

    def __init__(self):
        super().__init__(Euclidean(), Root())


class TestRootEuclidean(MetricLaws):
    invariances = ("orthogonal",)
    mean_iterates = False

    def make_metric(self, n, dtype=torch.float64):
        return RootEuclidean()


class TestWrong(MetricLaws):
    def make_metric(self, n, dtype=torch.float64):
        metric = RootEuclidean()
        metric._transport = lambda x, y, u: u + 0 * y
        return metric
"""


def test_a_third_party_runs_the_laws(environment: Callable[[str], Environment]) -> None:
    """A metric in a file of its own, far from the sources: the right one passes, the wrong one fails by its law."""
    python = environment("all")
    (python.folder / "test_mine.py").write_text(THIRD_PARTY)
    pytest_on = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-k",
        "not compile and not gradcheck and not gradgradcheck",
    )
    assert " passed" in python(*pytest_on, "test_mine.py::TestRootEuclidean").splitlines()[-1]
    failed = python(*pytest_on, "--tb=line", "test_mine.py::TestWrong::test_isometry", fails=True)
    assert "length after transport: relative error" in failed or "inner product after transport" in failed
