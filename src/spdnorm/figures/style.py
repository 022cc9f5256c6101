"""One look for all figures, readable in grey and by colour-blind readers.

Sequential data are drawn in cividis, whose lightness rises evenly and which looks the same under red-green blindness.
Categories differ in lightness as well as in hue, and by marker and line style.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl

__all__ = ["COLORS", "LINES", "MARKERS", "SEQUENTIAL", "category", "style"]

SEQUENTIAL = "cividis"

#: In order of lightness (CIE L* 10, 27, 47, 62, 77), so that grey keeps them apart and none is lost on white.
COLORS = ("#1b1b1b", "#103e7e", "#bc4b00", "#4c9ed5", "#ddbd1c")
MARKERS = ("o", "s", "^", "D", "v")
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))

_SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "legend.frameon": False,
    "image.cmap": SEQUENTIAL,
    "image.interpolation": "nearest",
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "savefig.facecolor": "white",
    # Text in PDF stays text; SVG names its parts the same way each time.
    "pdf.fonttype": 42,
    "svg.hashsalt": "spdnorm",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw in the project's style; the caller's settings of matplotlib come back after."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def category(index: int) -> dict[str, Any]:
    """Return colour, marker and line style of the category with this number."""
    return {
        "color": COLORS[index % len(COLORS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINES[index % len(LINES)],
    }
