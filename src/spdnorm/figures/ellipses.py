"""SPD matrices as ellipses before the layer and after each of its steps, for teaching (``ellipses``)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from torch import Tensor

from ..geometry import Metric, get
from ..linalg import SQRT, spectrum
from .errors import FigureError
from .layer_steps import STEPS
from .output import Drawn
from .style import COLORS, style

__all__ = ["draw_ellipses", "ellipse_points", "matrix_table"]


def draw_ellipses(steps: Mapping[str, Tensor], *, title: str, metric: Metric | None = None) -> Drawn:
    """Draw a panel for each step: every matrix as its ellipse, the barycentre, and the identity as the unit circle.

    Parameters
    ----------
    steps : mapping of str to Tensor, shape (N, 2, 2)
        As :func:`~.layer_steps.normalization_steps` returns them.
    title : str
        What the layer is.
    metric : Metric, optional
        Whose barycentre to draw; Bures-Wasserstein by default, which takes singular matrices too.

    Examples
    --------
    >>> from spdnorm.figures import normalization_steps
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import GBWBatchNorm
    >>> layer = GBWBatchNorm(2, dtype=torch.float64)
    >>> drawn = draw_ellipses(normalization_steps(layer, random_spd(2, 10)), title="GBWBN")
    >>> len(drawn.figure.axes)
    4
    """
    need_two(steps["input"])
    metric = metric or get("bwm")
    with style():
        figure = Figure(figsize=(1.9 * len(steps), 2.5))
        axes = figure.subplots(1, len(steps))
        for axis, (name, matrices) in zip(axes, steps.items(), strict=True):
            _panel(axis, matrices, metric.mean(matrices))
            axis.set_title(STEPS.get(name, name))
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside lower center", ncols=3)
        figure.suptitle(title, fontsize=9)
    return Drawn(figure=figure, data=matrix_table(steps))


def need_two(x: Tensor) -> None:
    """Raise unless ``x`` holds 2 x 2 matrices."""
    if x.shape[-1] != 2:
        n = x.shape[-1]
        raise FigureError(
            f"the features at the normalisation are {n} x {n}, and only 2 x 2 ones can be drawn: take a network that "
            "ends there, --set 'model.options.dims=[15, 2]'"
        )


def ellipse_points(matrices: Tensor, *, count: int = 97) -> np.ndarray:
    """Return the ellipses {X^1/2 u : |u| = 1} as closed lines, (N, count, 2): half axes are roots of eigenvalues."""
    root = spectrum(matrices).apply(SQRT)
    angle = torch.linspace(0, 2 * torch.pi, count, dtype=matrices.dtype)
    circle = torch.stack([angle.cos(), angle.sin()])
    return (root @ circle).mT.numpy()


def _panel(axis: Axes, matrices: Tensor, mean: Tensor) -> None:
    lines = ellipse_points(matrices)
    width = 0.8 if len(lines) <= 40 else 0.3
    axis.add_collection(LineCollection(list(lines), colors=COLORS[3], linewidths=width, label="matrices"))
    (centre,) = ellipse_points(mean[None])
    axis.plot(*centre.T, color=COLORS[0], linewidth=2, label="barycentre")
    (circle,) = ellipse_points(torch.eye(2, dtype=matrices.dtype)[None])
    axis.plot(*circle.T, color=COLORS[2], linestyle="--", linewidth=1.2, label="identity")
    reach = 1.08 * max(float(np.abs(lines).max()), 1.0)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axis.locator_params(nbins=4)


def matrix_table(steps: Mapping[str, Tensor], **columns: object) -> pd.DataFrame:
    """Return 2 x 2 matrices as a table: step, number, the three entries, condition number."""
    rows = []
    for name, matrices in steps.items():
        values = torch.linalg.eigvalsh(matrices)
        kappa = torch.where(values[:, 0] > 0, values[:, 1] / values[:, 0], torch.inf)
        frame = pd.DataFrame({"step": name, "sample": range(len(matrices)), **columns})
        frame["x11"], frame["x22"], frame["x12"] = (matrices[:, i, j].numpy() for i, j in ((0, 0), (1, 1), (0, 1)))
        frame["condition"] = kappa.numpy()
        rows.append(frame)
    return pd.concat(rows, ignore_index=True)
