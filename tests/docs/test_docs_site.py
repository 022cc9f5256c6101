"""The site builds without a warning, its links lead somewhere, and it can be read without a network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from site_links import Page, broken, loaded_from_elsewhere, read

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="needs the extra 'docs'")
    out = tmp_path_factory.mktemp("site")
    # Gallery examples that did not change are not run again; here all of them have to.
    shutil.rmtree(ROOT / "docs" / "auto_examples", ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(out / "doctrees")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    command += [str(ROOT / "docs"), str(out / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return out / "html"


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return read(site)


def test_no_link_is_broken(pages: dict[Path, Page]) -> None:
    assert len(pages) > 100
    assert broken(pages) == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    assert loaded_from_elsewhere(pages) == []
    styles = "".join(p.read_text(encoding="utf-8") for p in (site / "_static").glob("*.css"))
    assert not re.search(r"url\(\s*['\"]?https?:|@import\s+['\"]?https?:", styles)


def test_mathematics_is_in_the_page(site: Path) -> None:
    text = (site / "theory" / "equations.html").read_text(encoding="utf-8")
    assert text.count("<math") == text.count("</math>") >= 56
    assert "merror" not in text
    assert "\\frac" not in text
    # Every function of the table became a link.
    table = text[text.index('class="paper-equations') : text.index("</table>")]
    assert not re.search(r"<p>[^<]*<code", table)
    assert table.count('<a class="reference internal"') >= 80


def test_the_gallery(site: Path) -> None:
    examples = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))
    assert len(examples) >= 10
    times = (ROOT / "docs" / "auto_examples" / "sg_execution_times.rst").read_text()
    for example in examples:
        assert list((site / "_images").glob(f"sphx_glr_{example.stem}_0*.png")), f"{example.stem} shows no picture"
        (minutes, seconds) = re.search(rf"{example.name}.*?\n\s+- (\d\d):(\d\d\.\d+)", times, re.DOTALL).groups()
        assert 60 * int(minutes) + float(seconds) < 30, f"{example.stem} takes too long"


@pytest.mark.parametrize("width", [390, 1400])
def test_a_browser_shows_it(site: Path, tmp_path: Path, width: int) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium")
    for page in ("index.html", "theory/equations.html", "auto_examples/plot_01_normalise_a_batch.html"):
        picture = tmp_path / f"{Path(page).stem}.png"
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
        command += [f"--window-size={width},1200", f"--screenshot={picture}", f"file://{site / page}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        messages = [line for line in done.stderr.splitlines() if ":CONSOLE" in line and "[PST]" not in line]
        assert messages == []
        assert picture.stat().st_size > 10_000
