"""Scalp maps of the mean response over time (``fig-topo``, ``fig-topo1``), and after epochs of the training (``topo``).

Channels lie where the 10-05 system has them. Nothing is drawn where nothing was measured: the maps end with the
channels, and of the head only the part around them is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mne
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patheffects import withStroke

from .errors import FigureError
from .output import Drawn
from .style import SEQUENTIAL, style

__all__ = ["draw_topomaps", "scalp"]

#: The 10-05 system as MNE calls it now, and called it before 1.14.
_MONTAGES = ("colin27_1005", "standard_1005")


def scalp(channel_names: Sequence[str]) -> mne.Info:
    """Return MNE's description of channels at their positions in the 10-05 system."""
    known = mne.channels.get_builtin_montages()
    montage = mne.channels.make_standard_montage(next(name for name in _MONTAGES if name in known))
    unknown = sorted(set(channel_names) - set(montage.ch_names))
    if unknown or not channel_names:
        raise FigureError(
            f"channels {', '.join(unknown) or '(none are named)'} have no position in the 10-05 system: give their "
            "names in the order of the data, --channel-names Oz,O1,..."
        )
    info = mne.create_info(list(channel_names), sfreq=1.0, ch_types="eeg")
    info.set_montage(montage)
    return info


def draw_topomaps(
    responses: Mapping[str, np.ndarray], *, class_names: Sequence[str], channel_names: Sequence[str]
) -> Drawn:
    """Draw a row of scalp maps for each method, or epoch.

    Parameters
    ----------
    responses : mapping of str to ndarray, shape (K, C)
        Mean over time; the maps of a row share one scale from 0, rows do not.

    Examples
    --------
    >>> names = ("PO7", "PO3", "POz", "PO4", "PO8", "O1", "Oz", "O2")
    >>> drawn = draw_topomaps({"mine": np.eye(2, 8)}, class_names=("a", "b"), channel_names=names)
    >>> len(drawn.data)
    16
    """
    info = scalp(channel_names)
    with style():
        figure = Figure(figsize=(1.6 + 1.75 * len(class_names), 0.4 + 1.2 * len(responses)))
        axes = figure.subplots(len(responses), len(class_names), squeeze=False)
        for i, (row, (label, values)) in enumerate(zip(axes, responses.items(), strict=True)):
            for j, (axis, name, response) in enumerate(zip(row, class_names, values, strict=True)):
                image = _map(axis, response, info, limit=float(values.max()), named=j == 0)
                if i == 0:
                    axis.set_title(name)
            # MNE hides the axis' own label.
            where = {"transform": row[0].transAxes, "rotation": 90, "va": "center", "ha": "right"}
            row[0].text(-0.06, 0.5, label.replace("-", "-\n", 1), fontweight="bold", **where)
            bar = figure.colorbar(image, ax=list(row), pad=0.01, aspect=10)
            bar.set_label("mean\n|∂ score / ∂ signal|\n(per unit of signal)", fontsize=7.5)
            bar.ax.tick_params(labelsize=7.5)
    rows = [
        {"row": label, "class": name, "channel": channel, "response": float(value)}
        for label, values in responses.items()
        for name, response in zip(class_names, values, strict=True)
        for channel, value in zip(channel_names, response, strict=True)
    ]
    return Drawn(figure=figure, data=pd.DataFrame(rows))


def _map(axis: Axes, response: np.ndarray, info: mne.Info, *, limit: float, named: bool) -> AxesImage:
    image, _ = mne.viz.plot_topomap(
        response,
        info,
        axes=axis,
        show=False,
        cmap=SEQUENTIAL,
        vlim=(0.0, limit),
        contours=0,
        extrapolate="local",
        sensors="wo",
        names=info["ch_names"] if named else None,
    )
    for line in axis.lines:
        if line.get_marker() == "o":
            line.set(markersize=2.5, markeredgecolor="black", markeredgewidth=0.5)
    positions = np.concatenate([line.get_xydata() for line in axis.lines if line.get_marker() == "o"])
    low, high = positions.min(0), positions.max(0)
    # Room above and below for the channels' names and the outline of the head, at the sides for half a name.
    width = float((high - low).max())
    side, room = 0.2 * width, 0.31 * width
    axis.set(xlim=(low[0] - side, high[0] + side), ylim=(low[1] - room, high[1] + room))
    axis.set_clip_on(True)
    for line in axis.lines:
        line.set_clip_on(True)
    middle = positions.mean(0)
    for text, position in zip(axis.texts, positions, strict=False):
        above = position[1] >= middle[1]
        text.set(
            fontsize=6.5,
            position=(position[0], position[1] + (0.06 if above else -0.05) * width),
            va="bottom" if above else "top",
            ha="center",
            clip_on=True,
            # Readable on any colour.
            path_effects=[withStroke(linewidth=1.5, foreground="white")],
        )
    return image
