"""What the exponential and the logarithm at the identity do to an eigenvalue, under AIM and BWM (``tab:metric``)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from ..geometry import Metric, get
from .output import Drawn
from .style import category, style

__all__ = ["draw_metric_maps"]

_METRICS = {"AIM": "aim", "BWM": "bwm"}


def draw_metric_maps(*, points: int = 241) -> Drawn:
    """Draw both curves of both maps; all values come from :mod:`spdnorm.geometry`.

    The logarithm against eigenvalues from 1e-5 on, where those of ill-conditioned matrices lie; the exponential
    against eigenvalues of tangent vectors.

    Examples
    --------
    >>> data = draw_metric_maps().data
    >>> data.groupby(["metric", "map"])["output"].min().round(2).to_dict()
    {('AIM', 'exp'): 0.14, ('AIM', 'log'): -11.51, ('BWM', 'exp'): 0.0, ('BWM', 'log'): -1.99}
    """
    wide = np.geomspace(1e-5, 10.0, points)
    # BWM's exponential leaves the manifold's geodesics below -2, where 1 + u/2 changes its sign.
    tangent = np.linspace(-2.0, 4.0, points)
    curves = []
    for name, key in _METRICS.items():
        metric = get(key)
        curves.append(_curve("log", name, wide, _at_identity(metric, "log", wide)))
        curves.append(_curve("exp", name, tangent, _at_identity(metric, "exp", tangent)))
    data = pd.concat(curves, ignore_index=True)
    with style():
        figure = Figure(figsize=(6.6, 2.7))
        left, right = figure.subplots(1, 2)
        for i, name in enumerate(_METRICS):
            look = category(i) | {"marker": None}
            for axis, which in ((left, "log"), (right, "exp")):
                chosen = data[(data["map"] == which) & (data["metric"] == name)]
                axis.plot(chosen["eigenvalue"], chosen["output"], label=name, **look)
        left.set(
            xscale="log", xlabel="eigenvalue of X (log scale)", ylabel="eigenvalue of Log$_I$ X", title="Logarithm"
        )
        right.set(xlabel="eigenvalue of U", ylabel="eigenvalue of Exp$_I$ U", title="Exponential")
        left.axhline(0, color="0.7", linewidth=0.8, zorder=0)
        left.legend()
        right.legend()
    return Drawn(figure=figure, data=data)


def _at_identity(metric: Metric, which: str, values: np.ndarray) -> np.ndarray:
    # 1 x 1 matrices: at the identity both maps act on each eigenvalue by itself.
    matrices = torch.from_numpy(values)[:, None, None]
    identity = torch.ones_like(matrices)
    return getattr(metric, which)(identity, matrices).flatten().numpy()


def _curve(which: str, metric: str, x: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"map": which, "metric": metric, "eigenvalue": x, "output": y})
