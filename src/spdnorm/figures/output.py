"""A figure as files: pictures in several formats, and the numbers in it beside them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..experiments.files import atomic
from .errors import FigureError
from .style import style

__all__ = ["FORMATS", "Drawn", "picture", "save"]

FORMATS = ("png", "pdf", "svg")

#: No dates and no versions: the same figure is the same file.
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "svg": {"Date": None, "Creator": None},
}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A figure that is drawn and not yet written.

    Attributes
    ----------
    figure : Figure
    data : DataFrame
        The numbers in it.
    files : mapping of str to bytes
        What else belongs to it, by the end of its name: ``.html``, ``.gif``, ``.md``.

    Examples
    --------
    >>> figure = Figure()
    >>> axis = figure.subplots()
    >>> drawn = Drawn(figure=figure, data=pd.DataFrame({"x": [1, 2]}))
    >>> [path.name for path in save(drawn, Path("."), "mine", formats=("png",))]
    ['mine.png', 'mine.csv']
    """

    figure: Figure
    data: pd.DataFrame
    files: Mapping[str, bytes] = field(default_factory=dict)


def picture(figure: Figure, format: str, *, dpi: int) -> bytes:
    """Return a figure as a file's content, the same bytes each time."""
    stream = io.BytesIO()
    with style():
        FigureCanvasAgg(figure)
        figure.savefig(stream, format=format, dpi=dpi, metadata=_METADATA[format])
    return stream.getvalue()


def save(drawn: Drawn, folder: Path, name: str, *, formats: Sequence[str] = FORMATS, dpi: int = 200) -> list[Path]:
    """Write ``NAME.png`` and so on, ``NAME.csv`` and what else belongs to it; each file whole or not at all.

    Examples
    --------
    >>> from spdnorm.figures import draw_gbwbn
    >>> [path.name for path in save(draw_gbwbn(), Path("."), "layer", formats=("svg", "pdf"))]
    ['layer.svg', 'layer.pdf', 'layer.csv']
    """
    unknown = [entry for entry in formats if entry not in FORMATS]
    if unknown or not formats:
        raise FigureError(f"--format {', '.join(unknown) or 'is empty'}: choose from {', '.join(FORMATS)}")
    contents = {f".{entry}": picture(drawn.figure, entry, dpi=dpi) for entry in formats}
    contents[".csv"] = drawn.data.to_csv(index=False, lineterminator="\n").encode()
    contents |= drawn.files
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for suffix, content in contents.items():
        path = folder / f"{name}{suffix}"
        with atomic(path) as stream:
            stream.write(content)
        paths.append(path)
    return paths
