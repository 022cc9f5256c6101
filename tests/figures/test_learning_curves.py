"""Learning curves: mean and standard deviation over replicates of the average over members, as in the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spdnorm.experiments import Store, load_recipe, load_tables
from spdnorm.experiments.reproduce import reproduce
from spdnorm.figures import draw_learning_curves, learning_table
from spdnorm.figures.errors import FigureError


def test_numbers_are_those_of_the_runs_and_are_drawn(tmp_path: Path) -> None:
    demo, store = load_recipe("demo").model_copy(update={"members": {"data.split.seed": [0, 1]}}), Store(tmp_path)
    values = {"train.epochs": 3}
    table = reproduce(demo, store=store, rows=("spdnet", "gbwbn"), replicates=2, overrides=values, jobs=1).table
    data = learning_table(table, "vowels")
    assert list(data["row"].unique()) == ["spdnet", "gbwbn"]
    found = [
        (place.replicate, pd.read_csv(table.folder(place).metrics_file)) for place in table.runs("gbwbn", "vowels")
    ]
    of_row = data[data["row"] == "gbwbn"].set_index(["metric", "epoch"])
    for metric, factor in (("train_loss", 1), ("validation_accuracy", 100)):
        each = [factor * np.mean([frame[metric] for k, frame in found if k == seed], axis=0) for seed in (0, 1)]
        assert of_row.loc[metric, "mean"].to_numpy() == pytest.approx(np.mean(each, axis=0))
        assert of_row.loc[metric, "std"].to_numpy() == pytest.approx(np.std(each, axis=0, ddof=1))
    assert list(learning_table(table, "vowels", ["spdnet"])["row"].unique()) == ["spdnet"]
    drawn = draw_learning_curves(data)
    for axis, metric in zip(drawn.figure.axes, data["metric"].unique(), strict=True):
        assert axis.lines[1].get_ydata() == pytest.approx(of_row.loc[metric, "mean"].to_numpy())


def test_a_replicate_that_is_not_whole_does_not_count(tmp_path: Path) -> None:
    recipe = load_recipe("demo").model_copy(update={"members": {"data.split.seed": [0, 1]}})
    values = {"train.epochs": 1}
    table = reproduce(recipe, store=Store(tmp_path), rows=("spdnet",), replicates=2, overrides=values, jobs=1).table
    first, last = table.places[0], table.places[-1]
    assert first.replicate != last.replicate
    table.folder(last).result_file.unlink()
    fresh = load_tables(Store(tmp_path))[0]
    assert set(learning_table(fresh, "vowels")["replicates"]) == {1}


def test_a_column_without_runs_says_what_to_do(tmp_path: Path) -> None:
    table = reproduce(load_recipe("demo"), store=Store(tmp_path), quick=True, rows=("spdnet",), jobs=1).table
    with pytest.raises(FigureError, match="spdnorm reproduce"):
        learning_table(table, "nowhere")
