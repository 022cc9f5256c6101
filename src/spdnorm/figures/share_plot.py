"""Shares of the gradient response at Oz and in 0.25-0.60 s, one dot a run (``response-shares``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from .output import Drawn
from .shares import markdown_table, summarize_shares
from .style import COLORS, category, style

__all__ = ["draw_shares"]


def draw_shares(
    rows: Sequence[Mapping[str, Any]], *, channel: str, n_channels: int, window: tuple[float, float]
) -> Drawn:
    """Draw every run's shares (means over the classes) by method, and what an even response would have.

    ``rows`` are those of :func:`~.shares.shares_of_run`; a Markdown table of means and deviations goes with it.

    Examples
    --------
    >>> share = {"channel": 0.3, "rank": 1, "window": 0.4, "both": 0.1, "even": 0.35}
    >>> rows = [{"method": "GBWBN", "seed": seed, "subject": "11", "class": "10 Hz"} | share for seed in (0, 1)]
    >>> drawn = draw_shares(rows, channel="Oz", n_channels=8, window=(0.25, 0.6))
    >>> print(drawn.files[".md"].decode().splitlines()[2])
    | GBWBN | 2 | 30.0 ± 0.0 | 1.0 | 40.0 ± 0.0 | 10.0 ± 0.0 |
    """
    frame = pd.DataFrame(rows)
    runs = frame.groupby(["method", "subject", "seed"], sort=False)[["channel", "window"]].mean().reset_index()
    methods = list(dict.fromkeys(runs["method"]))
    even = {"channel": 1 / n_channels, "window": float(frame["even"].iloc[0])}
    titles = {"channel": f"at {channel}", "window": f"in {window[0]:.2f} to {window[1]:.2f} s"}
    with style():
        figure = Figure(figsize=(6.6, 1.2 + 0.3 * len(methods)))
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (column, title) in zip(axes, titles.items(), strict=True):
            for i, method in enumerate(methods):
                values = 100 * runs.loc[runs["method"] == method, column]
                look = category(i) | {"linestyle": "none", "markeredgecolor": COLORS[0], "markeredgewidth": 0.4}
                axis.plot(values, [i] * len(values), **look)
                axis.plot([values.mean()], [i], marker="|", markersize=14, color=COLORS[0])
            axis.axvline(100 * even[column], color=COLORS[2], linestyle=":", label="even response")
            axis.set(title=f"response {title}", xlabel="share (%)")
            # From the even response to the strongest, not from zero: methods lie close together.
            axis.margins(x=0.08)
        axes[0].set_yticks(range(len(methods)), methods)
        axes[0].set_ylim(len(methods) - 0.5, -0.5)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center")
    table = summarize_shares(list(map(dict, rows)))
    text = markdown_table(table, channel=channel, n_channels=n_channels, window=window)
    return Drawn(figure=figure, data=frame, files={".md": text.encode()})
