"""Line charts as inline SVG: no script, no font, no network; readable in the light and in the dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .curves import Curve

__all__ = ["line_chart", "style_of"]

WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 30, 44

#: Okabe and Ito's colours, told apart by colour-blind readers; dashes tell them apart in grey, and repeat them.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7a00")
DASHES = ("", "8 3", "2 3", "9 3 2 3")


def style_of(index: int) -> tuple[str, str]:
    """Return colour and dash pattern of the line with this number."""
    return COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]


def line_chart(lines: Sequence[Curve], *, title: str, y_label: str, percent: bool = False) -> str:
    """Return an ``<svg>`` element with one line for each curve, over epochs."""
    xs = [x for line in lines for x, _ in line.points]
    # A run that diverged has no finite loss: its line is not drawn, and others may be all there is.
    ys = [y for line in lines for _, y in line.points if math.isfinite(y)] or [0.0]
    x_ticks = ticks(min(xs), max(xs), whole=True)
    y_ticks = ticks(min(ys), max(ys))
    x_range = (min(min(xs), x_ticks[0]), max(max(xs), x_ticks[-1]))
    y_range = (min(min(ys), y_ticks[0]), max(max(ys), y_ticks[-1]))

    def px(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - x_range[0]) / ((x_range[1] - x_range[0]) or 1.0)

    def py(y: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (y - y_range[0]) / ((y_range[1] - y_range[0]) or 1.0)

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f'<text class="title" x="{LEFT}" y="16">{escape(title)}</text>',
    ]
    for y in y_ticks:
        text = f"{100 * y:g} %" if percent else f"{y:g}"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py(y):.1f}" y2="{py(y):.1f}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{py(y) + 4:.1f}" text-anchor="end">{text}</text>')
    for x in x_ticks:
        parts.append(f'<text class="tick" x="{px(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{x:g}</text>')
    parts.append(
        f'<text class="tick" x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">epoch</text>'
        f'<text class="tick" transform="translate(12 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )
    for index, line in enumerate(lines):
        colour, dash = style_of(index)
        points = " ".join(f"{px(x):.1f},{py(y):.1f}" for x, y in line.points if math.isfinite(y))
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="1.8"{dashed} points="{points}">'
            f"<title>{escape(line.label)}</title></polyline>"
        )
        # A run of one epoch has no line to draw.
        if len(line.points) == 1:
            x, y = line.points[0]
            parts.append(f'<circle cx="{px(x):.1f}" cy="{py(y):.1f}" r="3" fill="{colour}"/>')
    parts.append("</svg>")
    return "".join(parts)


def ticks(low: float, high: float, *, count: int = 5, whole: bool = False) -> list[float]:
    """Return about ``count`` round numbers that reach from at most ``low`` to at least ``high``."""
    span = (high - low) or abs(high) or 1.0
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))
    if whole:
        step = max(1.0, math.ceil(step))
        inside = range(math.ceil(low / step), math.floor(high / step) + 1)
        return [i * step for i in inside] or [low]
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, max(last, first + 1) + 1)]
