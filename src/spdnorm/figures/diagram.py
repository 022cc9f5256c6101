"""Boxes and arrows: what drawn diagrams are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from .style import COLORS

__all__ = ["Box", "box_table", "draw_boxes"]


@dataclass(frozen=True, kw_only=True)
class Box:
    """A box: centre, size, title, formula, and what it is: data, a step, a statistic or a parameter."""

    x: float
    y: float
    title: str
    formula: str
    kind: str
    width: float = 1.75
    height: float = 0.86


_FACES = {"step": "#ffffff", "statistic": "#d9ecf8", "parameter": "#fdf6c5", "data": "#e8e8e8"}
_EDGES = {"step": COLORS[0], "statistic": COLORS[1], "parameter": "#8a7f00", "data": "#555555"}


def draw_boxes(axis: Axes, boxes: Mapping[str, Box], arrows: Iterable[tuple[str, str, str]]) -> None:
    """Draw boxes, and arrows between them: from, to, and by which sides, r(ight), l(eft), t(op), b(ottom)."""
    axis.set_axis_off()
    for box in boxes.values():
        _box(axis, box)
    for start, end, sides in arrows:
        _arrow(axis, boxes[start], boxes[end], sides)


def box_table(boxes: Mapping[str, Box]) -> pd.DataFrame:
    """Return what the boxes say, a row each."""
    rows = [{"box": name, "kind": box.kind, "title": box.title, "formula": box.formula} for name, box in boxes.items()]
    return pd.DataFrame(rows)


def _box(axis: Axes, box: Box) -> None:
    corner = (box.x - box.width / 2, box.y - box.height / 2)
    patch = FancyBboxPatch(corner, box.width, box.height, boxstyle="round,pad=0,rounding_size=0.12", linewidth=1.1)
    patch.set(facecolor=_FACES[box.kind], edgecolor=_EDGES[box.kind])
    axis.add_patch(patch)
    axis.text(box.x, box.y + 0.2, box.title, ha="center", va="center", fontsize=8.5, fontweight="bold")
    axis.text(box.x, box.y - 0.16, box.formula, ha="center", va="center", fontsize=9)


def _arrow(axis: Axes, start: Box, end: Box, sides: str) -> None:
    if set(sides) <= set("rl") or set(sides) <= set("tb"):
        bend = "arc3,rad=0"
    else:
        bend = "angle,angleA=-90,angleB=0,rad=6" if sides[0] in "tb" else "angle,angleA=0,angleB=90,rad=6"
    patch = FancyArrowPatch(
        _side(start, sides[0]), _side(end, sides[1]), arrowstyle="-|>", mutation_scale=10, color=COLORS[0],
        linewidth=1, connectionstyle=bend, shrinkA=0, shrinkB=0,
    )  # fmt: skip
    axis.add_patch(patch)


def _side(box: Box, side: str) -> tuple[float, float]:
    across = {"l": -0.5, "r": 0.5}.get(side, 0.0) * box.width
    up = {"b": -0.5, "t": 0.5}.get(side, 0.0) * box.height
    return box.x + across, box.y + up
