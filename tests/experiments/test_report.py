"""Tables from result folders, rendered; the HTML page opened in a browser."""

from __future__ import annotations

import csv
import importlib
import re
import shutil
import subprocess
from base64 import b64decode
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev

import pytest

from spdnorm.experiments import Execution, ExperimentError, Recipe, Store, Table, load_recipe, load_tables
from spdnorm.experiments.report import Grid, Text, facts, layout, to_latex, write_report
from spdnorm.experiments.report.latex import escape
from spdnorm.experiments.report.svg import style_of, ticks
from spdnorm.experiments.reproduce import reproduce


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Two methods, two seeds, three epochs of real runs."""
    store = Store(tmp_path_factory.mktemp("results"))
    outcome = reproduce(
        load_recipe("demo"),
        store=store,
        rows=("spdnet", "gbwbn"),
        replicates=2,
        overrides={"train.epochs": 3},
        jobs=1,
    )
    assert outcome.failures == []
    return outcome.table


def test_a_cell_is_mean_and_spread_over_replicates(demo: Table) -> None:
    found = [100 * demo.result(p)["readings"]["paper"]["accuracy"] for p in demo.runs("gbwbn", "vowels")]  # type: ignore[index]
    cell = demo.cell("gbwbn", "vowels", "paper")
    assert cell is not None
    assert (cell.mean, cell.std) == (pytest.approx(mean(found)), pytest.approx(stdev(found)))
    assert (cell.replicates, cell.members, cell.missing) == (2, 1, 0)
    assert demo.cell("liebn", "vowels", "paper") is None


def test_members_are_averaged_before_the_spread_is_taken(demo: Table, tmp_path: Path) -> None:
    recipe = demo.recipe.model_copy(update={"members": {"data.split.seed": [0, 1]}})
    outcome = reproduce(
        recipe,
        store=Store(tmp_path),
        rows=("spdnet",),
        replicates=2,
        overrides={"train.epochs": 1},
        jobs=1,
    )
    cell = outcome.table.cell("spdnet", "vowels", "paper")
    assert cell is not None
    by_seed: dict[int, list[float]] = {}
    for place in outcome.table.places:
        result = outcome.table.result(place)
        assert result is not None
        by_seed.setdefault(place.replicate, []).append(100 * result["readings"]["paper"]["accuracy"])
    averages = [mean(values) for values in by_seed.values()]
    assert cell.members == 2
    assert cell.mean == pytest.approx(mean(averages))
    assert cell.std == pytest.approx(stdev(averages))
    assert cell.member_std == pytest.approx(
        stdev(
            mean(
                100 * outcome.table.result(place)["readings"]["paper"]["accuracy"]  # type: ignore[index]
                for place in outcome.table.places
                if place.member == member
            )
            for member in (0, 1)
        )
    )
    assert f"over members instead, JapaneseVowels, “paper”: SPDNet {cell.member_std:.2f}." in facts(outcome.table)[-3]
    # A replicate that lacks a member does not count.
    outcome.table.folder(outcome.table.places[0]).result_file.unlink()
    (again,) = load_tables(Store(tmp_path))
    cell = again.cell("spdnet", "vowels", "paper")
    assert cell is not None
    assert (cell.replicates, cell.missing, cell.std) == (1, 1, None)


def test_report_files(demo: Table, tmp_path: Path) -> None:
    paths = write_report([demo], tmp_path, title="What came out")
    names = {path.name for path in paths}
    assert {"report.html", "report.md", f"{demo.name}.tex", f"{demo.name}.csv"} == names
    cell = demo.cell("gbwbn", "vowels", "paper")
    assert cell is not None
    number = f"{cell.mean:.2f} ± {cell.std:.2f}"
    lines = list(csv.DictReader((tmp_path / f"{demo.name}.csv").open()))
    mine = [100 * float(line["paper_accuracy"]) for line in lines if line["row"] == "gbwbn"]
    assert (len(lines), mean(mine)) == (4, pytest.approx(cell.mean))
    assert {line["run"] for line in lines} == {place.hash for place in demo.places}
    for path in (path for path in paths if path.suffix != ".csv"):
        text = path.read_text()
        assert (escape(number) if path.suffix == ".tex" else number) in text, path
        assert "smallest validation loss" in text
        assert "Seeds 0, 1; 3 epochs; 4 of 4 runs done" in text


def test_published_page(demo: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    make_results = importlib.import_module("make_results")
    text = make_results.page(demo, "gbwbn")
    assert text.startswith(f"# {demo.recipe.title}\n")
    assert "## Paired differences\n\n| SPDNet-GBWBN" in text
    assert f"[{demo.name}.csv]({demo.name}.csv)" in text
    assert "Paired" not in make_results.page(demo, None)


class Links(HTMLParser):
    """Collects what a page would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {value}" for name, value in attributes if name in ("src", "href") and value != "data:,"]
        if tag == "script":
            self.found.append(tag)
        if tag not in ("meta", "link", "line", "circle"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_html_is_well_formed_and_fetches_nothing(demo: Table, tmp_path: Path) -> None:
    text = write_report([demo], tmp_path)[0].read_text()
    links = Links()
    links.feed(text)
    assert links.open == []
    assert links.found == []
    assert "url(" not in text
    rows = [row for place in demo.places for row in csv.DictReader(demo.folder(place).metrics_file.open())]
    # The test part is mostly looked at in some epochs only, and is then no curve.
    drawn = [key for key in rows[0] if key.endswith(("_accuracy", "train_loss")) and all(row[key] for row in rows)]
    assert text.count("<polyline") == 2 * len([key for key in drawn if "batch" not in key])


def test_pictures_become_part_of_the_page(demo: Table, tmp_path: Path) -> None:
    picture = tmp_path / "loss_and_more.svg"
    picture.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle cx="4" cy="4" r="3"/></svg>')
    text = write_report([demo], tmp_path, figures=[picture])[0].read_text()
    assert "<figcaption>loss and more</figcaption>" in text
    (data,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', text)
    assert b64decode(data) == picture.read_bytes()
    with pytest.raises(ExperimentError, match="no picture"):
        write_report([demo], tmp_path, figures=[tmp_path / "a.txt"])
    with pytest.raises(ExperimentError, match="there is no picture"):
        write_report([demo], tmp_path, figures=[tmp_path / "a.png"])


def test_html_opens_in_a_browser_without_console_errors(demo: Table, tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium on PATH: install Debian's package chromium to run this test")
    page = write_report([demo], tmp_path)[0]
    picture = tmp_path / "page.png"
    command = [
        browser,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        "--v=0",
        "--window-size=1200,1600",
        f"--screenshot={picture}",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert picture.stat().st_size > 20_000
    assert re.findall(r".*:CONSOLE.*", done.stderr) == []
    # The same look at a page that does have an error shows that the log would tell.
    broken = tmp_path / "broken.html"
    broken.write_text("<!doctype html><script>undefinedFunction()</script>")
    command[-2:] = [f"--screenshot={tmp_path / 'broken.png'}", broken.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert re.findall(r".*:CONSOLE.*", done.stderr) != []


def test_a_changed_recipe_never_mixes_with_old_rows(demo: Table) -> None:
    store = demo.store
    changed = demo.recipe.model_copy(update={"base": {**demo.recipe.base, "optim": {"name": "torch-adam", "lr": 0.02}}})
    before = {place.hash for place in demo.places}
    outcome = reproduce(changed, store=store, rows=("gbwbn",), replicates=1, overrides={"train.epochs": 3}, jobs=1)
    assert not before & {place.hash for place in outcome.table.places}
    again = reproduce(
        demo.recipe,
        store=store,
        rows=("spdnet", "gbwbn"),
        replicates=2,
        overrides={"train.epochs": 3},
        jobs=1,
    )
    assert {place.hash for place in again.table.places} == before


def test_rows_added_by_a_later_call_join_the_table(tmp_path: Path) -> None:
    recipe, store = load_recipe("demo"), Store(tmp_path)
    for row in ("spdnet", "spdbn"):
        reproduce(recipe, store=store, quick=True, rows=(row,), jobs=1)
    (table,) = load_tables(store, ["demo"])
    assert [place.row for place in table.places] == ["spdnet", "spdbn"]
    assert layout(table).labels == ["SPDNet", "SPDNet-SPDBN"]


def test_transposed_and_condition_layouts(tmp_path: Path) -> None:
    recipe = load_recipe("demo")
    tree = recipe.model_dump(mode="json")
    tree |= {"name": "turned", "layout": "transposed"}
    tree["rows"][0]["paper"] = {"vowels": [50.0, 1.0]}
    outcome = reproduce(Recipe.model_validate(tree), store=Store(tmp_path), quick=True, rows=("spdnet",), jobs=1)
    grid = layout(outcome.table)
    assert [name for _, name in grid.header] == ["SPDNet"]
    assert grid.labels[0] == "JapaneseVowels: published"
    assert grid.body[0][0].text == "50.00 ± 1.00"
    assert to_latex(grid, title="x", facts=[], label="y").count(r"\\") == len(grid.labels) + 1

    tree = recipe.model_dump(mode="json")
    tree |= {"name": "kappa", "layout": "conditions"}
    tree["columns"] = [
        {"key": "without", "label": "without", "set": {"model": {"norm": "none"}}},
        {"key": "gbwbn", "label": "GBWBN", "set": {"model": {"norm": "gbw"}}},
    ]
    counts = {name: [640, 600, 5] for name in ("1e+03", "1e+04", "1e+05")}
    tree["rows"] = [{"key": "l", "label": "λ", "paper_counts": {"1": counts}}]
    tree["quick"]["set"]["train"]["condition_epochs"] = [1, 2]
    outcome = reproduce(Recipe.model_validate(tree), store=Store(tmp_path), quick=True, jobs=1)
    grid = layout(outcome.table)
    assert grid.labels == ["λ, epoch 1", "λ, epoch 1, published", "λ, epoch 2"]
    assert grid.header[:3] == [("κ > 10³", "without"), ("κ > 10³", "before"), ("κ > 10³", "after")]
    assert grid.body[1][:3] == [layout(outcome.table).body[1][i] for i in range(3)]
    result = outcome.table.result(outcome.table.runs("l", "gbwbn")[0])
    assert result is not None
    condition = result["conditions"]["1"]
    assert condition["before"]["samples"] == 640
    count = condition["after"]["above"]["1e+03"]
    assert grid.body[0][2].text == f"{count:,} ({100 * count / 640:.1f}%)"


def test_published_numbers_stay_where_the_data_are_not_at_hand(tmp_path: Path) -> None:
    tree = load_recipe("demo").model_dump(mode="json")
    tree["columns"].append(
        {"key": "ntu", "label": "NTU", "time": True, "set": {"data": {"name": "ntu"}}, "replicates": {"seed": [0]}}
    )
    tree["rows"][0] |= {"paper": {"ntu": [52.54, 0.59]}, "paper_seconds": {"ntu": 359.25}}
    outcome = reproduce(
        Recipe.model_validate({**tree, "name": "partly", "rows": tree["rows"][:1], "replicates": {"seed": [0]}}),
        store=Store(tmp_path / "runs"),
        execution=Execution(data_dir=str(tmp_path)),
        overrides={"train.epochs": 1},
        jobs=1,
    )
    assert set(outcome.skipped) == {"ntu"}
    grid = layout(outcome.table)
    assert grid.header[-2:] == [("NTU", "published"), ("NTU", "published s/epoch")]
    assert [cell.text for cell in grid.body[0][-2:]] == ["52.54 ± 0.59", "359.25"]
    assert grid.header[0] == ("JapaneseVowels", "ours, protocol “paper”")


def test_latex_escapes_what_latex_reads() -> None:
    assert escape("a_b & 5 % ± θ ≤".replace("≤", "10⁻⁵")) == r"a\_b \& 5 \% $\pm$ $\theta$ 10$^{-5}$"


def test_wide_tables_are_shrunk_to_the_page() -> None:
    for columns, environment in ((3, "table"), (9, "table*")):
        line = [Text("1")] * columns
        grid = Grid(row_title="", header=[("", "x")] * columns, labels=["a"], body=[line])
        text = to_latex(grid, title="x", facts=[], label="y")
        assert text.startswith(rf"\begin{{{environment}}}")
        assert rf"\end{{{environment}}}" in text
        assert text.count("{") == text.count("}")
        assert (r"\resizebox{\textwidth}" in text) == (columns == 9)


def test_lines_differ_in_colour_and_in_grey() -> None:
    styles = [style_of(index) for index in range(13)]
    assert len(set(styles)) == 13
    # Neighbours in the legend differ in their dashes.
    assert all(a[1] != b[1] for a, b in pairwise(styles))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.3, 0.31), (-2e-5, 7.0), (5.0, 5.0), (0.0, 1e6)])
def test_ticks_span_the_data_in_round_steps(low: float, high: float) -> None:
    found = ticks(low, high)
    assert found[0] <= low + 1e-9
    assert found[-1] >= high - 1e-9 * abs(high)
    assert 2 <= len(found) <= 8
    steps = {round(b - a, 10) for a, b in pairwise(found)}
    assert len(steps) == 1
