"""
Normalise a batch of covariance matrices
========================================

A 2 x 2 SPD matrix is an ellipse. A batch of elongated ones goes through batch normalisation: their barycentre
becomes the identity, the unit circle, and their spread what the scale says.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from spdnorm.geometry import BuresWasserstein
from spdnorm.linalg import expm, symmetrize
from spdnorm.nn import BWBatchNorm

# %%
# A batch about a centre of condition number 16
# ---------------------------------------------

generator = torch.Generator().manual_seed(0)
noise = expm(symmetrize(0.35 * torch.randn(40, 2, 2, generator=generator, dtype=torch.float64)))
centre = torch.tensor([[2.6, 1.9], [1.9, 2.0]], dtype=torch.float64)
root = torch.linalg.cholesky(centre)
x = symmetrize(root @ noise @ root.mT)

# %%
# The layer, its scale set to a standard deviation of 0.3; the barycentre to convergence.

layer = BWBatchNorm(2, mean_iterations=None, dtype=torch.float64)
with torch.no_grad():
    layer.scale.fill_(0.3)
    y = layer(x)
metric = BuresWasserstein()
print("barycentre before:\n", metric.mean(x).numpy().round(3))
print("barycentre after:\n", metric.mean(y).numpy().round(3))
print(f"standard deviation after: {metric.variance(y).sqrt():.3f}")


# %%
# Before and after
# ----------------


def ellipse(matrix: torch.Tensor) -> np.ndarray:
    """Points X^1/2 u for u on the unit circle."""
    angle = np.linspace(0, 2 * np.pi, 100)
    values, vectors = np.linalg.eigh(matrix.numpy())
    return (vectors * np.sqrt(values)) @ vectors.T @ np.stack([np.cos(angle), np.sin(angle)])


figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharex=True, sharey=True, layout="constrained")
for axis, batch, title in zip(axes, (x, y), ("before", "after"), strict=True):
    for matrix in batch:
        axis.plot(*ellipse(matrix), color="tab:blue", alpha=0.25, linewidth=1)
    axis.plot(*ellipse(metric.mean(batch)), color="tab:red", linewidth=2.5, label="barycentre")
    axis.plot(*ellipse(torch.eye(2)), color="black", linestyle=":", label="identity")
    axis.set(title=title, aspect="equal")
axes[0].legend(loc="upper left")
plt.show()
