"""Learning curves: means over members of means over replicates, with quartiles over members."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spdnorm.experiments import Store, load_recipe
from spdnorm.experiments.reproduce import reproduce
from spdnorm.figures import draw_learning_curves, learning_table
from spdnorm.figures.errors import FigureError


def test_numbers_are_those_of_the_runs_and_are_drawn(tmp_path: Path) -> None:
    demo, store = load_recipe("demo"), Store(tmp_path)
    values = {"train.epochs": 3}
    table = reproduce(demo, store=store, rows=("spdnet", "gbwbn"), replicates=2, overrides=values, jobs=1).table
    data = learning_table(table, "vowels")
    assert list(data["row"].unique()) == ["spdnet", "gbwbn"]
    frames = [pd.read_csv(table.folder(place).metrics_file) for place in table.runs("gbwbn", "vowels")]
    of_row = data[data["row"] == "gbwbn"].set_index(["metric", "epoch"])
    for metric, factor in (("train_loss", 1), ("validation_accuracy", 100)):
        expected = factor * np.mean([frame[metric] for frame in frames], axis=0)
        assert of_row.loc[metric, "mean"].to_numpy() == pytest.approx(expected)
    assert (of_row["lower"] <= of_row["mean"] + 1e-12).all()
    assert (of_row["mean"] <= of_row["upper"] + 1e-12).all()
    assert list(learning_table(table, "vowels", ["spdnet"])["row"].unique()) == ["spdnet"]
    drawn = draw_learning_curves(data)
    for axis, metric in zip(drawn.figure.axes, data["metric"].unique(), strict=True):
        assert axis.lines[1].get_ydata() == pytest.approx(of_row.loc[metric, "mean"].to_numpy())


def test_the_band_is_over_members(tmp_path: Path) -> None:
    recipe = load_recipe("demo").model_copy(update={"members": {"data.split.seed": [0, 1, 2, 3, 4]}})
    values = {"train.epochs": 1}
    table = reproduce(recipe, store=Store(tmp_path), rows=("spdnet",), replicates=1, overrides=values, jobs=1).table
    frames = [pd.read_csv(table.folder(place).metrics_file) for place in table.places]
    losses = [frame["validation_loss"][0] for frame in frames]
    row = learning_table(table, "vowels").query("metric == 'validation_loss'").iloc[0]
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(np.quantile(losses, [0.25, 0.75])))
    assert row["members"] == 5


def test_a_column_without_runs_says_what_to_do(tmp_path: Path) -> None:
    table = reproduce(load_recipe("demo"), store=Store(tmp_path), quick=True, rows=("spdnet",), jobs=1).table
    with pytest.raises(FigureError, match="spdnorm reproduce"):
        learning_table(table, "nowhere")
