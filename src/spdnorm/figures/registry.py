"""Figures by the paper's names."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import FigureError

if TYPE_CHECKING:
    from .output import Drawn
    from .request import Request

__all__ = ["FIGURES", "FigureInfo", "figure_names", "make_figure"]


@dataclass(frozen=True, kw_only=True)
class FigureInfo:
    """A figure: what it shows, what it is made from, and the function in :mod:`.recipes` that makes it."""

    title: str
    source: str
    function: str


_RUN = "runs, or trains them on MAMEM-SSVEP-II"
_BOTH = "nothing, or a run with 2 x 2 features"

FIGURES: dict[str, FigureInfo] = {
    "fig-heat": FigureInfo(title="Gradient responses, channel by time (GBWBN)", source=_RUN, function="heat"),
    "fig-topo": FigureInfo(title="Scalp maps of the mean response (GBWBN)", source=_RUN, function="topo"),
    "topo": FigureInfo(title="Scalp maps after epochs of the training", source=_RUN, function="topo_epochs"),
    "fig-heat1": FigureInfo(title="As fig-heat, SPDNet-BN", source=_RUN, function="heat_spdbn"),
    "fig-topo1": FigureInfo(title="As fig-topo, SPDNet-BN", source=_RUN, function="topo_spdbn"),
    "response-shares": FigureInfo(
        title="Share of the response at a channel and in a stretch of time", source=_RUN, function="response_shares"
    ),
    "ill-condition": FigureInfo(
        title="The cone of 2 x 2 matrices before and after the layer", source=_BOTH, function="ill_condition"
    ),
    "metric-maps": FigureInfo(
        title="Log and Exp of an eigenvalue, AIM and BWM", source="nothing", function="metric_maps"
    ),
    "gbwbn": FigureInfo(title="The layer's computation", source="nothing", function="gbwbn"),
    "bias-backward": FigureInfo(title="The backward pass of the bias", source="nothing", function="bias_backward"),
    "condition-numbers": FigureInfo(
        title="Condition numbers without, before and after the layer", source=_RUN, function="condition_numbers"
    ),
    "ellipses": FigureInfo(title="A batch as ellipses, step by step", source=_BOTH, function="ellipses"),
    "training-animation": FigureInfo(title="A training as a film", source=_RUN, function="training_animation"),
}

#: The paper's labels where they differ.
ALIASES = {
    "fig:ill-condition": "ill-condition",
    "tab:metric": "metric-maps",
    "arch": "gbwbn",
    "arch: GBWBN": "gbwbn",
    "fig-bp": "bias-backward",
    "combined_lambda_eigenvalue": "condition-numbers",
}


def figure_names() -> list[str]:
    """Return the names that :func:`make_figure` knows.

    Examples
    --------
    >>> figure_names()[:3]
    ['fig-heat', 'fig-topo', 'topo']
    """
    return list(FIGURES)


def make_figure(name: str, request: Request) -> tuple[str, Drawn]:
    """Draw a figure by its name or the paper's label for it; return its name and what was drawn.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Store
    >>> from spdnorm.figures import Request, save
    >>> name, drawn = make_figure("tab:metric", Request(store=Store(Path("runs"))))
    >>> [path.name for path in save(drawn, Path("figures"), name, formats=("svg",))]
    ['metric-maps.svg', 'metric-maps.csv']
    """
    name = ALIASES.get(name, name)
    if name not in FIGURES:
        raise FigureError(f"no figure is named {name!r}; there are {', '.join(FIGURES)}")
    # Drawing brings in matplotlib, MNE and the training loop, which a list of names need not wait for.
    recipes = importlib.import_module(f"{__package__}.recipes")
    draw: Callable[[Request], Drawn] = getattr(recipes, FIGURES[name].function)
    return name, draw(request)
