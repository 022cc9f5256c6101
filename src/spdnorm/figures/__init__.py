"""Figures of the paper and of trained networks.

:func:`make_figure` draws one by its name and :func:`save` writes it; ``spdnorm figure`` does both. The parts are
functions from numbers to :class:`Drawn`, and can be called with anybody's own. Importing this package loads neither
matplotlib nor MNE.
"""

from __future__ import annotations

import importlib
from typing import Any

import spdnorm.experiments  # noqa: F401 - first, because it says which extra brings what figures are made with

_MODULES = {
    "animation": ("draw_animation",),
    "bias_diagram": ("draw_bias_backward",),
    "condition_plot": ("draw_conditions",),
    "cone": ("draw_cone",),
    "ellipses": ("draw_ellipses",),
    "errors": ("FigureError",),
    "gbwbn_diagram": ("draw_gbwbn",),
    "gradients": ("gradient_responses",),
    "heatmaps": ("draw_heatmaps",),
    "layer_steps": ("normalization_steps",),
    "learning_curves": ("draw_learning_curves", "learning_table"),
    "metric_maps": ("draw_metric_maps",),
    "registry": ("figure_names", "make_figure"),
    "request": ("Request",),
    "runs": ("TrainedRun", "figure_config", "open_run", "train_run"),
    "output": ("Drawn", "save"),
    "share_plot": ("draw_shares",),
    "shares": ("response_shares", "shares_of_run"),
    "topomaps": ("draw_topomaps",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
