"""Losses and accuracies over epochs for the rows of a table, with their spread over replicates (seeds)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure

from ..experiments import Table
from .errors import FigureError
from .output import Drawn
from .style import category, style

__all__ = ["draw_learning_curves", "learning_table"]

METRICS = {
    "train_loss": "training loss",
    "validation_loss": "validation loss",
    "train_accuracy": "training accuracy (%)",
    "validation_accuracy": "validation accuracy (%)",
}


def learning_table(table: Table, column: str, rows: Sequence[str] = ()) -> pd.DataFrame:
    """Return ``row``, ``label``, ``metric``, ``epoch``, ``mean``, ``std`` and ``replicates``.

    As the table itself: mean and standard deviation over replicates of the average over members; only whole replicates
    count. Accuracies are in percent.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Store, load_recipe
    >>> from spdnorm.experiments.reproduce import reproduce
    >>> store, demo = Store(Path("runs")), load_recipe("demo")
    >>> table = reproduce(demo, store=store, quick=True, rows=("gbwbn",), jobs=1).table
    >>> int(learning_table(table, "vowels")["epoch"].max())
    2
    """
    frames = []
    for row in table.recipe.rows:
        places = table.runs(row.key, column)
        missing = {place.replicate for place in places if table.result(place) is None}
        runs = [place for place in places if place.replicate not in missing]
        if (rows and row.key not in rows) or not runs:
            continue
        files = [(run.replicate, table.folder(run).metrics_file) for run in runs]
        epochs = pd.concat([pd.read_csv(file).assign(replicate=replicate) for replicate, file in files])
        present = [metric for metric in METRICS if metric in epochs and epochs[metric].notna().any()]
        epochs[[name for name in present if name.endswith("accuracy")]] *= 100
        each = epochs.groupby(["replicate", "epoch"])[present].mean()
        for metric in present:
            over = each[metric].groupby("epoch")
            frame = pd.DataFrame({"mean": over.mean(), "std": over.std(), "replicates": over.size()}).reset_index()
            frames.append(frame.assign(row=row.key, label=row.label, metric=metric))
    if not frames:
        raise FigureError(
            f"no replicate of the column {column!r} of {table.name} is whole: `spdnorm reproduce` runs it"
        )
    return pd.concat(frames, ignore_index=True)


def draw_learning_curves(data: pd.DataFrame) -> Drawn:
    """Draw what :func:`learning_table` returns: means, and a band of one standard deviation to each side.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"row": "a", "label": "A", "metric": "train_loss", "epoch": [1, 2], "mean": [2.0, 1.0]})
    >>> draw_learning_curves(data.assign(std=0.1, replicates=3)).figure.axes[0].get_ylabel()
    'training loss'
    """
    metrics = [metric for metric in METRICS if (data["metric"] == metric).any()]
    with style():
        figure = Figure(figsize=(8.6, 2.6 * ((len(metrics) + 1) // 2)))
        axes = figure.subplots((len(metrics) + 1) // 2, 2, squeeze=False).flatten()
        for axis, metric in zip(axes, metrics, strict=False):
            for i, (label, frame) in enumerate(data[data["metric"] == metric].groupby("label", sort=False)):
                look = category(i) | {"marker": None}
                low, high = frame["mean"] - frame["std"], frame["mean"] + frame["std"]
                axis.fill_between(frame["epoch"], low, high, color=look["color"], alpha=0.2, linewidth=0)
                axis.plot(frame["epoch"], frame["mean"], label=label, **look)
            axis.set(ylabel=METRICS[metric], xlabel="epoch")
        for axis in axes[len(metrics) :]:
            axis.remove()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return Drawn(figure=figure, data=data)
