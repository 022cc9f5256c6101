"""The picture of README.md: what normalisation does to SPD matrices, by the library itself."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import torch

from spdnorm.geometry import BuresWasserstein
from spdnorm.linalg import expm, symmetrize
from spdnorm.nn import GBWBatchNorm

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLORS = ("#0072b2", "#d55e00")


def batches() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Two recordings of 40 ill-conditioned 2 x 2 covariances, which of them each belongs to, and them normalised."""
    generator = torch.Generator().manual_seed(3)
    noise = expm(symmetrize(0.45 * torch.randn(80, 2, 2, generator=generator, dtype=torch.float64)))
    centres = torch.tensor([[[3.0, 1.85], [1.85, 1.2]], [[0.55, -0.75], [-0.75, 1.3]]], dtype=torch.float64)
    recording = torch.arange(80) // 40
    root = torch.linalg.cholesky(centres)[recording]
    x = symmetrize(root @ noise @ root.mT)
    y = torch.empty_like(x)
    for number in (0, 1):
        layer = GBWBatchNorm(2, mean_iterations=None, dtype=torch.float64)
        with torch.no_grad():
            layer.scale.fill_(0.45)
            y[recording == number] = layer(x[recording == number])
    return x, recording, y


def ellipse(matrix: torch.Tensor) -> np.ndarray:
    angle = np.linspace(0, 2 * np.pi, 90)
    values, vectors = np.linalg.eigh(matrix.numpy())
    return (vectors * np.sqrt(values)) @ vectors.T @ np.stack([np.cos(angle), np.sin(angle)])


def draw(path: Path) -> None:
    """Ellipses, and the same matrices in a slice of the cone, before and after."""
    x, recording, y = batches()
    metric = BuresWasserstein()
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained", width_ratios=(1, 1, 1, 1))
    turn = np.linspace(0, 2 * np.pi, 200)
    for batch, (shape, cone), title in ((x, axes[:2], "before"), (y, axes[2:], "after normalisation")):
        cone.plot(np.cos(turn), np.sin(turn), color="black", linewidth=1.2)
        cone.plot(0, 0, "k+", markersize=9)
        for number, color in enumerate(COLORS):
            part = batch[recording == number]
            for matrix in part[::2]:
                shape.plot(*ellipse(matrix), color=color, alpha=0.25, linewidth=0.9)
            shape.plot(*ellipse(metric.mean(part)), color=color, linewidth=2.6)
            a, b, c = part[:, 0, 0], part[:, 0, 1], part[:, 1, 1]
            cone.scatter((a - c) / (a + c), 2 * b / (a + c), s=9, color=color)
        shape.plot(np.cos(turn), np.sin(turn), "k:", linewidth=1.2)
        for axis in (shape, cone):
            axis.set(aspect="equal", xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
        shape.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6))
        cone.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))
        shape.set_title(f"{title}: as ellipses", fontsize=10)
        cone.set_title(f"{title}: in the cone", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)
