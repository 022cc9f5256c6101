"""The wheel, built once, and environments that it is installed in."""

from __future__ import annotations

import functools
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from isolated import ROOT, Environment, link, requirements, run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as an index would build it."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, cwd=ROOT)
    (built,) = out.glob("spdnorm-*.whl")
    return built


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Make an environment with the wheel and: ``"core"``, its required dependencies only; ``"all"``, every extra.

    The dependencies are those of the running interpreter, borrowed by links: nothing is downloaded.
    """

    @functools.cache
    def make(kind: str) -> Environment:
        folder = tmp_path_factory.mktemp(kind)
        venv.create(folder / "venv", with_pip=False)
        python = folder / "venv" / "bin" / "python"
        run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
        site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
        if kind == "core":
            link(requirements("torch", "numpy", "geoopt"), site)
        else:
            # A folder named in a .pth file is searched, but its own .pth files, which lead to the sources, are not
            # read.
            (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        work = folder / "work"
        work.mkdir()
        return Environment(python, work)

    return make
