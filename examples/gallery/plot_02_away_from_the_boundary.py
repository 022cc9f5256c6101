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
# In the cone
# -----------
# The axes are the entries a, b and c of the matrix [[a, b], [b, c]]; the surface is ac = b².

figure = plt.figure(figsize=(9, 4.4), layout="constrained")
height, turn = np.meshgrid(np.linspace(0, 1, 2), np.linspace(0, 2 * np.pi, 60))
for position, (batch, title) in enumerate(((x, "before"), (y, "after")), start=1):
    axis = figure.add_subplot(1, 2, position, projection="3d")
    top = float((batch[:, 0, 0] + batch[:, 1, 1]).max()) / 2
    axis.plot_surface(
        top * height * (1 + np.cos(turn)), top * height * np.sin(turn), top * height * (1 - np.cos(turn)), alpha=0.15
    )
    axis.scatter(batch[:, 0, 0], batch[:, 0, 1], batch[:, 1, 1], s=8, color="tab:red", depthshade=False)
    axis.set(title=title, xlabel="a", ylabel="b", zlabel="c")
    axis.view_init(elev=25, azim=-60)
plt.show()
