"""Condition numbers of the features without, before and after the normalisation (``condition-numbers``)."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .errors import FigureError
from .output import Drawn
from .runs import TrainedRun
from .style import category, style

__all__ = ["condition_table", "draw_conditions"]

_COUNTS = {"above_1e3": "κ > $10^3$", "above_1e4": "κ > $10^4$", "above_1e5": "κ > $10^5$"}


def condition_table(runs: Sequence[TrainedRun]) -> pd.DataFrame:
    """Return what the runs recorded, with a column ``features`` of ``without``, ``before`` and ``after``."""
    frames = []
    for run in runs:
        if not run.conditions_file.is_file():
            raise FigureError(
                f"{run.folder.path} has no conditions.csv: it was trained without recording condition numbers; "
                "train with --conditions, or leave --run out, and the networks are trained here with it"
            )
        frame = pd.read_csv(run.conditions_file)
        # A network without the layer passes its features on as they are.
        if run.config.model.norm == "none":
            frame = frame[frame["side"] == "before"].assign(features="without")
        else:
            frame = frame.assign(features=frame["side"])
        frames.append(frame.assign(method=run.label, seed=run.config.seed))
    return pd.concat(frames, ignore_index=True).drop(columns="side")


def draw_conditions(runs: Sequence[TrainedRun]) -> Drawn:
    """Draw the median and the quartiles of κ over epochs, and the share of samples above each threshold.

    The first normalisation of each network; the table beside the figure has all of them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Execution, Store, load_recipe
    >>> from spdnorm.figures import train_run
    >>> config = load_recipe("demo").entries(quick=True, rows=("gbwbn",))[0].config
    >>> run = train_run(config, store=Store(Path("runs")), execution=Execution())
    >>> drawn = draw_conditions([run])
    >>> sorted(drawn.data["features"].unique()), int(drawn.data["epoch"].max())
    (['after', 'before'], 2)
    """
    table, norms = condition_table(runs), {run.label: run.norm_label for run in runs}
    shown = table[table["place"] == table.groupby("method")["place"].transform("first")]
    series = [(key, frame.sort_values("epoch")) for key, frame in shown.groupby(["method", "features"], sort=False)]
    with style():
        figure = Figure(figsize=(8.6, 2.9))
        axes = figure.subplots(1, 1 + len(_COUNTS), width_ratios=[1.6, 1, 1, 1])
        for i, ((method, features), frame) in enumerate(series):
            look = category(i) | {"marker": None}
            label = f"without ({method})" if features == "without" else f"{features} {norms[method]}"
            axes[0].fill_between(
                frame["epoch"],
                frame["lower_quartile"],
                frame["upper_quartile"],
                color=look["color"],
                alpha=0.18,
                linewidth=0,
            )
            axes[0].plot(frame["epoch"], frame["median"], label=label, **look)
            for axis, column in zip(axes[1:], _COUNTS, strict=True):
                axis.plot(frame["epoch"], 100 * frame[column] / frame["samples"], **look)
        axes[0].set(yscale="log", ylabel="condition number κ", title="median and quartiles")
        for axis, title in zip(axes[1:], _COUNTS.values(), strict=True):
            _percent_axis(axis, title)
        axes[1].set_ylabel("share of samples (%)")
        figure.supxlabel("Epoch", fontsize=9)
        figure.legend(loc="outside upper center", ncols=len(series))
    return Drawn(figure=figure, data=table)


def _percent_axis(axis: Axes, title: str) -> None:
    axis.set(ylim=(-3, 103), title=title)
