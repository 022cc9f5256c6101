"""Which row a table chooses, and what its networks come to together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from spdnorm.experiments import ConfigError, ExperimentError, Recipe, Store, Table, load_recipe
from spdnorm.experiments.checkpoint import load_checkpoint
from spdnorm.experiments.config import validate
from spdnorm.experiments.data import load_task
from spdnorm.experiments.pooling import pool
from spdnorm.experiments.report import facts, layout, write_report
from spdnorm.experiments.report.choices import choices
from spdnorm.experiments.reproduce import reproduce
from spdnorm.experiments.table import Place
from spdnorm.models import SPDNet

#: Percent by row and column.
NUMBERS = {"a": (60.0, 90.0), "b": (70.0, 50.0), "c": (65.0, 80.0)}


def recipe(**changes: Any) -> Recipe:
    tree = {
        "name": "t",
        "title": "T",
        "base": {"data": {"name": "japanese-vowels"}, "model": {"name": "spdnet"}},
        "choose_by": "v",
        "columns": [
            {"key": "v", "label": "validation", "protocols": ["paper"]},
            {"key": "t", "label": "test"},
        ],
        "rows": [{"key": key, "label": key.upper(), "group": "one" if key != "b" else "two"} for key in NUMBERS],
    }
    return validate(Recipe, {**tree, **changes})


def table(recipe: Recipe, *, without: tuple[str, str] | None = None) -> Table:
    places = [Place(row=r, column=c, replicate=0, member=0, hash=r + c) for r in NUMBERS for c in "vt"]
    found = Table(name="t", recipe=recipe, quick=False, overrides={}, places=places, store=Store(Path("none")))
    for place in places:
        accuracy = NUMBERS[place.row]["vt".index(place.column)] / 100
        reading = {"accuracy": accuracy, "selection": "s", "part": "test", "average": "samples"}
        done = (place.row, place.column) != without
        found._results[place.hash] = (
            {"readings": {"paper": reading, "released": reading}, "seconds_per_epoch": 1.0} if done else None
        )
    return found


def test_the_choice_is_by_its_column_alone() -> None:
    (said,) = choices(table(recipe()))
    assert said == (
        "Chosen by the column “validation” alone (largest mean): "
        "of one, “C” (65.00 in “validation”, 80.00 in “test”); "
        "of two, “B” (70.00 in “validation”, 50.00 in “test”); "
        "of all, “B” (70.00 in “validation”, 50.00 in “test”)."
    )


def test_an_unfinished_row_is_not_chosen_and_no_recipe_chooses_unasked() -> None:
    (said,) = choices(table(recipe(), without=("b", "v")))
    assert "of two" not in said
    assert "of all, “C”" in said
    assert choices(table(recipe(choose_by=None))) == []
    with pytest.raises(ConfigError, match="choose_by names the unknown column 'x'"):
        recipe(choose_by="x")


def test_a_row_with_fewer_replicates_is_not_chosen() -> None:
    found = table(recipe())
    for key in ("a", "c"):
        place = Place(row=key, column="v", replicate=1, member=0, hash=f"{key}2")
        found.places.append(place)
        found._results[place.hash] = found._results[f"{key}v"]
    (said,) = choices(found)
    assert "of two" not in said
    assert "of all, “C”" in said


def test_a_column_shows_the_readings_that_it_is_for() -> None:
    header = [own for group, own in layout(table(recipe())).header if "protocol" in own and group == "validation"]
    assert header == ["ours, protocol “paper”"]
    assert sum("protocol" in own for _, own in layout(table(recipe())).header) == 3


def test_the_ablation_chooses_without_the_test_session() -> None:
    ablation = load_recipe("mamem_ablation")
    assert ablation.choose_by == "inner"
    inner = ablation.entries(columns=("inner",))
    assert {entry.config.data.split.by for entry in inner} == {"inner"}
    outer = ablation.entries(columns=("mamem",))
    # One configuration for all subjects, and the same one in both columns.
    for one, other in zip(inner, outer, strict=True):
        assert one.config.with_values({"data.split.by": "column"}) == other.config
    hashes = [entry.config.hash for entry in [*inner, *outer]]
    assert len(set(hashes)) == len(hashes) == 2 * 55 * len(ablation.rows)
    assert all(row.group for row in ablation.rows)
    published = load_recipe("mamem_acc")
    for row in ("gbwbn", "liebn", "spdmbn", "spdnet"):
        shared = {entry.config.hash for entry in published.entries(rows=(row,))}
        assert shared == {entry.config.hash for entry in outer if entry.row == row}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Table:
    outcome = reproduce(
        load_recipe("demo"),
        store=Store(tmp_path_factory.mktemp("results")),
        rows=("gbwbn",),
        replicates=3,
        overrides={"train.epochs": 1},
        jobs=1,
    )
    return outcome.table


def test_a_pool_averages_the_probabilities_of_the_chosen_epochs(trained: Table) -> None:
    found = pool(trained, "gbwbn", "vowels", data_dir=None)
    assert found is not None
    probabilities, right = [], []
    for place in trained.runs("gbwbn", "vowels"):
        folder = trained.folder(place)
        config = folder.config()
        part = load_task(config.data, data_dir=None, dtype=torch.float64).test
        model = SPDNet((12, 10, 8), 9, norm="gbw", norm_options=config.model.norm_options, dtype=torch.float64)
        model.load_state_dict(load_checkpoint(folder.model_file, config_hash=config.hash)["selected"])
        with torch.no_grad():
            probabilities.append(model.eval()(part.x).softmax(-1))
        right.append(100 * folder.result()["readings"]["paper"]["accuracy"])
    together = 100 * (sum(probabilities).argmax(-1) == part.y).double().mean().item()
    assert found.networks == 3
    assert found.pooled == pytest.approx(together)
    assert found.alone == pytest.approx(sum(right) / 3)


def test_a_report_has_the_pools_that_were_asked_for(trained: Table, tmp_path: Path) -> None:
    write_report([trained], tmp_path / "with", pools=True)
    write_report([trained], tmp_path / "without")
    assert "pooled over replicates" in (tmp_path / "with" / "report.md").read_text()
    assert "pooled" not in (tmp_path / "without" / "report.md").read_text()
    assert facts(trained)


def test_one_replicate_is_no_pool_and_other_data_are_no_replicate(trained: Table, tmp_path: Path) -> None:
    first = trained.runs("gbwbn", "vowels")[:1]
    alone = Table(**{**vars(trained), "places": first, "_results": {}})
    assert pool(alone, "gbwbn", "vowels", data_dir=None) is None
    other = reproduce(
        load_recipe("demo"),
        store=trained.store,
        rows=("gbwbn",),
        replicates=2,
        overrides={"train.epochs": 1, "data.split.seed": 1},
        jobs=1,
    )
    both = [*first, Place(**{**vars(other.table.places[0]), "replicate": 1})]
    mixed = Table(**{**vars(trained), "places": both, "_results": {}})
    with pytest.raises(ExperimentError, match="differ in their data"):
        pool(mixed, "gbwbn", "vowels", data_dir=None)
