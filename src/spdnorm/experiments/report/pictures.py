"""Pictures as part of a page: one file to send, nothing to fetch."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..errors import ExperimentError

__all__ = ["embedded"]

KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}


def embedded(files: Sequence[Path]) -> str:
    """Return a section with the pictures, captioned by their names; empty without any."""
    if not files:
        return ""
    shown = "\n".join(_figure(file) for file in files)
    return f'<section id="figures">\n<h2>Figures</h2>\n<div class="figures">\n{shown}\n</div>\n</section>\n'


def _figure(file: Path) -> str:
    kind = KINDS.get(file.suffix.lower())
    if kind is None:
        raise ExperimentError(f"{file} is no picture that a page can hold; give {', '.join(KINDS)}")
    if not file.is_file():
        raise ExperimentError(f"there is no picture {file}")
    name = escape(file.stem.replace("_", " "))
    data = b64encode(file.read_bytes()).decode()
    return f'<figure><img alt="{name}" src="data:{kind};base64,{data}"><figcaption>{name}</figcaption></figure>'
