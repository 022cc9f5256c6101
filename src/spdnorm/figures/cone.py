"""The cone of 2 x 2 SPD matrices with ill-conditioned points before and after the layer (``fig:ill-condition``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from torch import Tensor

from .cone_page import cone_page
from .ellipses import matrix_table, need_two
from .output import Drawn
from .style import SEQUENTIAL, style

__all__ = ["boundary", "draw_cone", "draw_cone_axis", "upright"]

#: The colour scale ends here: rounding makes larger condition numbers meaningless in single precision.
LARGEST = 6.0


def draw_cone(before: Tensor, after: Tensor, *, title: str) -> Drawn:
    """Draw matrices (N, 2, 2) in the cone before and after a layer, coloured by condition number; HTML beside it.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import BWBatchNorm
    >>> x = random_spd(2, 20, condition=1e4)
    >>> drawn = draw_cone(x, BWBatchNorm(2, dtype=torch.float64)(x).detach(), title="BWBN")
    >>> list(drawn.data.columns)
    ['step', 'sample', 'x11', 'x22', 'x12', 'condition']
    """
    need_two(before)
    steps = {"before": before, "after": after}
    data = matrix_table(steps)
    with style():
        figure = Figure(figsize=(7.0, 3.4))
        figure.set_layout_engine("none")
        scale = Normalize(0.0, LARGEST)
        for i, (name, matrices) in enumerate(steps.items()):
            axis = figure.add_axes((0.46 * i, 0.02, 0.41, 0.86), projection="3d")
            kappa = data.loc[data["step"] == name, "condition"].to_numpy()
            colors = np.log10(np.clip(kappa, 1.0, 10**LARGEST))
            dots = draw_cone_axis(axis, matrices, c=colors, cmap=SEQUENTIAL, norm=scale)
            axis.set_title(f"{name} the layer: median κ = {np.median(kappa):.3g}", y=1.0)
        bar = figure.colorbar(dots, cax=figure.add_axes((0.93, 0.2, 0.014, 0.56)), extend="max")
        bar.set_label("condition number κ (log$_{10}$)", fontsize=8)
        figure.suptitle(title, fontsize=9, y=0.99)
    return Drawn(figure=figure, data=data, files={".html": cone_page(before, after, title=title).encode()})


def draw_cone_axis(axis: Any, matrices: Tensor, *, reach: float | None = None, cone: bool = True, **dots: Any) -> Any:
    """Draw singular matrices as black dots and ``matrices`` as points, the cone's axis upwards.

    ``reach`` is the largest half trace shown; by default the 98 % quantile, so that no single point shrinks the rest.
    ``cone=False`` adds points to a cone that is drawn.
    """
    points = upright(matrices.numpy())
    reach = reach or float(np.quantile(points[:, 2], 0.98))
    if cone:
        edge = boundary(np.linspace(0.0, reach, 9), np.linspace(0.0, np.pi, 49))
        axis.plot_wireframe(*np.moveaxis(edge, -1, 0), color="0.6", linewidth=0.3, rstride=2, cstride=4)
        axis.scatter(*edge[1:].reshape(-1, 3).T, color="black", s=0.4, depthshade=False)
    inside = points[:, 2] <= reach * 1.001
    shown = {key: value[inside] if key == "c" else value for key, value in dots.items()}
    seen = axis.scatter(*points[inside].T, s=14, edgecolors="black", linewidths=0.3, depthshade=False, **shown)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(0, reach), box_aspect=(1, 1, 0.8))
    axis.set_xlabel("$(X_{11} - X_{22})/2$", labelpad=-6)
    axis.set_ylabel("$X_{12}$", labelpad=-6)
    axis.set_zlabel("$(X_{11} + X_{22})/2$", labelpad=-6)
    axis.view_init(elev=16, azim=-60)
    for one in (axis.xaxis, axis.yaxis, axis.zaxis):
        # No ticks where two axes meet: their numbers would stand on one another.
        one.set_major_locator(MaxNLocator(4, prune=None if one is axis.zaxis else "both"))
        one.set_tick_params(pad=-3, labelsize=6.5)
    return seen


def upright(matrices: np.ndarray) -> np.ndarray:
    """Return ((X11 - X22)/2, X12, (X11 + X22)/2) of matrices (..., 2, 2): there the cone is round and upright."""
    a, c, b = matrices[..., 0, 0], matrices[..., 1, 1], matrices[..., 0, 1]
    return np.stack([(a - c) / 2, b, (a + c) / 2], -1)


def boundary(traces: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Return singular matrices of these half traces and directions, upright, (traces, angles, 3)."""
    direction = np.stack([np.cos(angles), np.sin(angles)], -1)
    rank_one = 2 * direction[:, :, None] * direction[:, None, :]
    return upright(traces[:, None, None, None] * rank_one)
