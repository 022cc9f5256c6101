"""Losses and accuracies over epochs for the rows of a table, with their spread over members (subjects)."""

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
    """Return ``row``, ``label``, ``metric``, ``epoch``, ``mean``, ``lower``, ``upper`` and ``members``.

    A member's number is the mean over its finished replicates; ``mean`` and the quartiles ``lower`` and ``upper`` are
    over members. Accuracies are in percent.

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
        runs = [place for place in table.runs(row.key, column) if table.result(place) is not None]
        if (rows and row.key not in rows) or not runs:
            continue
        epochs = pd.concat([pd.read_csv(table.folder(run).metrics_file).assign(member=run.member) for run in runs])
        present = [metric for metric in METRICS if metric in epochs and epochs[metric].notna().any()]
        epochs[[name for name in present if name.endswith("accuracy")]] *= 100
        each = epochs.groupby(["member", "epoch"])[present].mean()
        for metric in present:
            over = each[metric].groupby("epoch")
            parts = {"mean": over.mean(), "lower": over.quantile(0.25), "upper": over.quantile(0.75)}
            frame = pd.DataFrame({**parts, "members": over.size()}).reset_index()
            frames.append(frame.assign(row=row.key, label=row.label, metric=metric))
    if not frames:
        raise FigureError(f"no run of the column {column!r} of {table.name} is done: `spdnorm reproduce` runs it")
    return pd.concat(frames, ignore_index=True)


def draw_learning_curves(data: pd.DataFrame) -> Drawn:
    """Draw what :func:`learning_table` returns: means over members, and a band from quartile to quartile.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"row": "a", "label": "A", "metric": "train_loss", "epoch": [1, 2], "mean": [2.0, 1.0]})
    >>> draw_learning_curves(data.assign(lower=0.5, upper=2.5, members=3)).figure.axes[0].get_ylabel()
    'training loss'
    """
    metrics = [metric for metric in METRICS if (data["metric"] == metric).any()]
    with style():
        figure = Figure(figsize=(8.6, 2.6 * ((len(metrics) + 1) // 2)))
        axes = figure.subplots((len(metrics) + 1) // 2, 2, squeeze=False).flatten()
        for axis, metric in zip(axes, metrics, strict=False):
            for i, (label, frame) in enumerate(data[data["metric"] == metric].groupby("label", sort=False)):
                look = category(i) | {"marker": None}
                axis.fill_between(frame["epoch"], frame["lower"], frame["upper"], color=look["color"], alpha=0.08, lw=0)
                axis.plot(frame["epoch"], frame["mean"], label=label, **look)
            axis.set(ylabel=METRICS[metric], xlabel="epoch")
            if metric.endswith("loss"):
                axis.set_ylim(0, 1.15 * data[data["metric"] == metric].groupby("label")["mean"].max().median())
        for axis in axes[len(metrics) :]:
            axis.remove()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return Drawn(figure=figure, data=data)
