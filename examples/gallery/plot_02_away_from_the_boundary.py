"""
Ill-conditioned matrices move off the boundary
==============================================

The 2 x 2 SPD matrices are the inside of a cone, singular ones its surface. Covariances with a large condition
number hug the surface; after normalisation under the generalised Bures-Wasserstein metric they lie in the
interior.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from spdnorm.nn import GBWBatchNorm

# %%
# Matrices with condition numbers from a hundred to a million
# -----------------------------------------------------------

rng = np.random.default_rng(0)
angle = rng.normal(0.6, 0.5, 150)
large = rng.uniform(0.5, 2.0, 150)
small = large / 10 ** rng.uniform(2, 6, 150)
frame = np.stack([np.stack([np.cos(angle), -np.sin(angle)], -1), np.stack([np.sin(angle), np.cos(angle)], -1)], -2)
x = torch.from_numpy((frame * np.stack([large, small], -1)[:, None]) @ frame.swapaxes(-1, -2))
layer = GBWBatchNorm(2, dtype=torch.float64)
with torch.no_grad():
    layer.scale.fill_(0.4)
    y = layer(x)
for name, batch in (("before", x), ("after", y)):
    print(f"median condition number {name}: {torch.linalg.cond(batch).median():.3g}")

# %%
# A slice of the cone
# -------------------
# Up to its size a matrix [[a, b], [b, c]] is a point of the unit disc, (a - c, 2b) / (a + c): the identity is its
# centre, the circle are the singular matrices, and a radius r is a condition number (1 + r) / (1 - r).

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
turn = np.linspace(0, 2 * np.pi, 200)
for axis, batch, title in zip(axes, (x, y), ("before", "after"), strict=True):
    a, b, c = batch[:, 0, 0], batch[:, 0, 1], batch[:, 1, 1]
    axis.plot(np.cos(turn), np.sin(turn), color="black", label="singular matrices")
    for condition in (10, 100):
        radius = (condition - 1) / (condition + 1)
        axis.plot(radius * np.cos(turn), radius * np.sin(turn), color="grey", linewidth=0.8, linestyle=":")
        axis.annotate(f"{condition}", (-0.7 * radius, -0.7 * radius), color="grey", fontsize=8)
    axis.scatter((a - c) / (a + c), 2 * b / (a + c), s=10, color="tab:red")
    axis.set(title=title, aspect="equal", xticks=[], yticks=[])
axes[0].legend(loc="lower left")
plt.show()
