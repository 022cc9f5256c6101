"""Heat maps of gradient responses, channel by time, for each class (``fig-heat``, ``fig-heat1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .output import Drawn
from .shares import WINDOW
from .style import SEQUENTIAL, style

__all__ = ["draw_heatmaps", "response_table"]

UNIT = "mean |∂ score / ∂ signal|\n(per unit of the signal)"


def draw_heatmaps(
    responses: Mapping[str, np.ndarray],
    *,
    times: np.ndarray,
    class_names: Sequence[str],
    channel_names: Sequence[str],
    window: tuple[float, float] | None = WINDOW,
) -> Drawn:
    """Draw a row of heat maps for each method.

    Parameters
    ----------
    responses : mapping of str to ndarray, shape (K, C, T)
        By method; its K maps share one scale from 0, methods do not, since their scores differ in size.
    times : ndarray, shape (T,)
        Seconds.
    window : pair of float, optional
        A stretch of time to mark.

    Examples
    --------
    >>> times, maps = np.arange(60) / 60, np.random.default_rng(0).random((2, 3, 60))
    >>> drawn = draw_heatmaps({"mine": maps}, times=times, class_names="ab", channel_names=("O1", "Oz", "O2"))
    >>> drawn.data.shape
    (6, 63)
    """
    step = times[1] - times[0]
    extent = (times[0] - step / 2, times[-1] + step / 2, len(channel_names) - 0.5, -0.5)
    with style():
        figure = Figure(figsize=(1.6 + 1.75 * len(class_names), 0.5 + 1.75 * len(responses)))
        axes = figure.subplots(len(responses), len(class_names), sharex=True, sharey=True, squeeze=False)
        for i, (row, (method, maps)) in enumerate(zip(axes, responses.items(), strict=True)):
            for axis, name, values in zip(row, class_names, maps, strict=True):
                image = axis.imshow(
                    values, aspect="auto", extent=extent, cmap=SEQUENTIAL, vmin=0, vmax=maps.max(), rasterized=True
                )
                if i == 0:
                    axis.set_title(name)
                for second in window or ():
                    axis.axvline(second, color="white", linestyle=":", linewidth=1)
            row[0].set_yticks(range(len(channel_names)), channel_names)
            row[0].set_ylabel(method, fontweight="bold")
            bar = figure.colorbar(image, ax=list(row), pad=0.01, aspect=12)
            bar.set_label(UNIT, fontsize=8)
        marked = f"; dotted lines: {window[0]:.2f} and {window[1]:.2f} s" if window else ""
        figure.supxlabel(f"Time (s){marked}", fontsize=9)
    return Drawn(figure=figure, data=response_table(responses, times, class_names, channel_names))


def response_table(
    responses: Mapping[str, np.ndarray],
    times: np.ndarray,
    class_names: Sequence[str],
    channel_names: Sequence[str],
) -> pd.DataFrame:
    """Return responses as a table with a row for each method, class and channel, and a column for each time."""
    columns = [f"{second:.3f}" for second in times]
    rows = [
        {"method": method, "class": name, "channel": channel} | dict(zip(columns, series.tolist(), strict=True))
        for method, maps in responses.items()
        for name, values in zip(class_names, maps, strict=True)
        for channel, series in zip(channel_names, values, strict=True)
    ]
    return pd.DataFrame(rows)
