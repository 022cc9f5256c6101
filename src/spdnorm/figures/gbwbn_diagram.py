"""The computation of the GBWBN layer as a drawing (``arch: GBWBN``; paper, Alg. 1)."""

from __future__ import annotations

from matplotlib.figure import Figure

from .diagram import Box, box_table, draw_boxes
from .output import Drawn
from .style import style

__all__ = ["draw_gbwbn"]

#: In the order of Alg. 1, from the left; statistics below the steps that need them, parameters above.
BOXES = {
    "x": Box(x=0.75, y=2, title="batch", formula=r"$X_1, \ldots, X_N$", kind="data", width=1.15),
    "into": Box(x=2.55, y=2, title="into BW space", formula=r"$M^{-1/2} X_i^{\,\theta} M^{-1/2}$", kind="step"),
    "centre": Box(x=4.75, y=2, title="centre", formula=r"$\Gamma_{B \to I}$", kind="step", width=1.55),
    "scale": Box(x=7, y=2, title="scale", formula=r"$\times\; s\,/\sqrt{\nu^2 + \varepsilon}$", kind="step", width=1.7),
    "bias": Box(x=9.05, y=2, title="bias", formula=r"$\Gamma_{I \to \hat G}$", kind="step", width=1.55),
    "out": Box(
        x=11.2, y=2, title="out of it", formula=r"$(M^{1/2} \tilde X_i M^{1/2})^{1/\theta}$", kind="step", width=2
    ),
    "y": Box(x=13.15, y=2, title="normalised", formula=r"$\acute X_1, \ldots, \acute X_N$", kind="data", width=1.25),
    "mean": Box(
        x=4.75,
        y=0.55,
        title="barycentre",
        formula=r"$B_b = \mathrm{mean}_{BW}(\hat X_i)$",
        kind="statistic",
        width=1.95,
    ),
    "variance": Box(
        x=7,
        y=0.55,
        title="variance",
        formula=r"$\nu_b^2 = \overline{d_{BW}^2(B_b, \hat X_i)}/\theta^2$",
        kind="statistic",
        width=2.05,
    ),
    "running": Box(
        x=10.4,
        y=0.55,
        title="running (evaluation uses these)",
        formula=r"$B_r \leftarrow B_r \,\sharp_\omega\, B_b,\;\; \nu_r^2 \leftarrow (1-\omega)\nu_r^2 + \omega\nu_b^2$",
        kind="statistic",
        width=3.7,
    ),
    "metric": Box(x=2.55, y=3.45, title="metric", formula=r"$M \in S_{++}$, $\theta$", kind="parameter"),
    "s": Box(x=7, y=3.45, title="scale", formula=r"$s$", kind="parameter", width=1.2),
    "g": Box(
        x=9.05, y=3.45, title="bias", formula=r"$\hat G = M^{-1/2} G^{\theta} M^{-1/2}$", kind="parameter", width=2.1
    ),
}

ARROWS = (
    ("x", "into", "rl"), ("into", "centre", "rl"), ("centre", "scale", "rl"), ("scale", "bias", "rl"),
    ("bias", "out", "rl"), ("out", "y", "rl"), ("metric", "into", "bt"), ("s", "scale", "bt"), ("g", "bias", "bt"),
    ("into", "mean", "bl"), ("mean", "centre", "tb"), ("mean", "variance", "rl"), ("variance", "scale", "tb"),
    ("variance", "running", "rl"),
)  # fmt: skip


def draw_gbwbn() -> Drawn:
    """Draw the layer: data in grey, steps in white, statistics in blue, parameters in yellow.

    Examples
    --------
    >>> draw_gbwbn().data["kind"].value_counts()["step"]
    np.int64(5)
    """
    with style():
        figure = Figure(figsize=(10.2, 3.2))
        axis = figure.add_subplot()
        axis.set(xlim=(0, 13.8), ylim=(-0.15, 4.15))
        draw_boxes(axis, BOXES, ARROWS)
        axis.text(
            13.75, 4.05, "each Γ: Exp ∘ parallel transport ∘ Log", ha="right", va="top", fontsize=8, style="italic"
        )
    return Drawn(figure=figure, data=box_table(BOXES))
