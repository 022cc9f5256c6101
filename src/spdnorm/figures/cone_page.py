"""The cone as one page that needs no network: drag to turn it, slide from before the layer to after it."""

from __future__ import annotations

import html
import json
from importlib import resources

import torch
from torch import Tensor

__all__ = ["cone_page"]


def cone_page(before: Tensor, after: Tensor, *, title: str) -> str:
    """Return the page for matrices (N, 2, 2) before and after a layer.

    The straight line between two SPD matrices stays in the cone, so the slider's way is a way through SPD matrices.
    """
    content = json.dumps({"before": _entries(before), "after": _entries(after)}, allow_nan=False)
    template = (resources.files(__package__) / "cone.html").read_text(encoding="utf-8")
    # No </script> can be in JSON of numbers; the title is text.
    return template.replace("{{title}}", html.escape(title)).replace("{{points}}", content)


def _entries(matrices: Tensor) -> list[list[float]]:
    chosen = torch.stack([matrices[:, 0, 0], matrices[:, 1, 1], matrices[:, 0, 1]], -1)
    # Twelve digits: fewer would move points that lie close to the boundary across it.
    return [[float(f"{value:.12g}") for value in row] for row in chosen.tolist()]
