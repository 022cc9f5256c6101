"""The backward pass of the layer's bias as a drawing (``fig-bp``; paper, App. "Learning the bias")."""

from __future__ import annotations

from matplotlib.figure import Figure

from .diagram import Box, box_table, draw_boxes
from .output import Drawn
from .style import style

__all__ = ["draw_bias_backward"]

#: Forward from the left in the upper row, gradients from the right in the lower one; L is the loss, L^(i) the loss as
#: a function of what f^(i) takes.
BOXES = {
    "x": Box(x=0.85, y=2.9, title="sample", formula=r"$X_i$", kind="data", width=1.3),
    "f1": Box(x=2.8, y=2.9, title="$f^{(1)}$", formula=r"$\mathrm{Log}_I$", kind="step", width=1.5),
    "y": Box(x=4.75, y=2.9, title="tangent at I", formula=r"$Y_i$", kind="data", width=1.4),
    "f2": Box(x=6.7, y=2.9, title="$f^{(2)}$", formula=r"$\Gamma_{I \to G}$", kind="step", width=1.5),
    "z": Box(x=8.65, y=2.9, title="tangent at G", formula=r"$Z_i$", kind="data", width=1.4),
    "f3": Box(x=10.6, y=2.9, title="$f^{(3)}$", formula=r"$\mathrm{Exp}_G$", kind="step", width=1.5),
    "out": Box(x=12.6, y=2.9, title="biased", formula=r"$X_i^{bias}$", kind="data", width=1.4),
    "g": Box(x=8.65, y=4.3, title="bias", formula=r"$G$", kind="parameter", width=1.2),
    "dout": Box(x=12.6, y=1.35, title="loss", formula=r"$\partial L / \partial X_i^{bias}$", kind="data", width=1.4),
    "b3": Box(
        x=10.6, y=1.35, title="Lyapunov", formula=r"through $\mathcal{L}_G(Z_i)$", kind="statistic", width=1.75
    ),
    "dz": Box(x=8.65, y=1.35, title="gradient", formula=r"$\partial L^{(3)} / \partial Z_i$", kind="data", width=1.4),
    "b2": Box(
        x=6.7, y=1.35, title="automatic", formula=r"through $\Gamma_{I \to G}$", kind="statistic", width=1.65
    ),
    "dy": Box(x=4.75, y=1.35, title="gradient", formula=r"$\partial L^{(2)} / \partial Y_i$", kind="data", width=1.4),
    "b1": Box(
        x=2.8, y=1.35, title="Daleckii–Kreĭn", formula=r"through $X_i^{1/2}$", kind="statistic", width=1.75
    ),
    "dx": Box(x=0.85, y=1.35, title="gradient", formula=r"$\partial L^{(1)} / \partial X_i$", kind="data", width=1.3),
    "dg": Box(
        x=8.65, y=-0.1, title="gradient of the bias", kind="parameter", width=2.9,
        formula=r"$\sum_i (\partial L^{(2)} / \partial G + \partial L^{(3)} / \partial G)$",
    ),
}  # fmt: skip

ARROWS = (
    ("x", "f1", "rl"), ("f1", "y", "rl"), ("y", "f2", "rl"), ("f2", "z", "rl"), ("z", "f3", "rl"), ("f3", "out", "rl"),
    ("g", "f2", "lt"), ("g", "f3", "rt"), ("out", "dout", "bt"), ("dout", "b3", "lr"), ("b3", "dz", "lr"),
    ("dz", "b2", "lr"), ("b2", "dy", "lr"), ("dy", "b1", "lr"), ("b1", "dx", "lr"), ("b2", "dg", "bl"),
    ("b3", "dg", "br"),
)  # fmt: skip


def draw_bias_backward() -> Drawn:
    """Draw how the bias is learnt: data in grey, steps in white, ways back in blue, the parameter in yellow.

    Examples
    --------
    >>> draw_bias_backward().data["kind"].value_counts()["step"]
    np.int64(3)
    """
    with style():
        figure = Figure(figsize=(10.0, 3.7))
        axis = figure.add_subplot()
        axis.set(xlim=(0.1, 13.4), ylim=(-0.6, 4.8))
        draw_boxes(axis, BOXES, ARROWS)
        for y, text in ((3.55, "forward"), (0.7, "backward")):
            axis.text(0.2, y, text, fontsize=8, style="italic")
    return Drawn(figure=figure, data=box_table(BOXES))
