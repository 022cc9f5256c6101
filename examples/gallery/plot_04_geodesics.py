"""
Geodesics under five metrics
============================

Between the same two matrices each metric goes its own way. Watch the size of the ellipses in between: the
arithmetic path (last row) swells, log-Euclidean and affine-invariant ones keep the determinant's logarithm
linear.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from spdnorm.geometry import get

start = torch.tensor([[4.0, 1.9], [1.9, 1.0]], dtype=torch.float64)
end = torch.tensor([[1.0, -1.9], [-1.9, 4.0]], dtype=torch.float64)
time = torch.linspace(0, 1, 9, dtype=torch.float64)
paths = {
    "affine-invariant": get("aim"),
    "log-Euclidean": get("lem"),
    "log-Cholesky": get("lcm"),
    "Bures-Wasserstein": get("bwm"),
    "Bures-Wasserstein, θ = 1/2": get("bwm", theta=0.5),
}
points = {name: metric.geodesic(start, end, time) for name, metric in paths.items()}
points["arithmetic"] = (1 - time)[:, None, None] * start + time[:, None, None] * end

circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 80)), np.sin(np.linspace(0, 2 * np.pi, 80))])
figure, axes = plt.subplots(len(points), 1, figsize=(8, 8), layout="constrained", sharex=True)
for axis, (name, path) in zip(axes, points.items(), strict=True):
    for i, matrix in enumerate(path):
        outline = torch.linalg.cholesky(matrix).numpy() @ circle
        axis.plot(outline[0] + 5 * i, outline[1], color=plt.cm.viridis(i / 9))
    axis.set(aspect="equal", yticks=[], xticks=[])
    axis.set_title(name, fontsize=10, loc="left")
plt.show()

# %%
# Determinants on the way.

for name, path in points.items():
    print(f"{name:28}", " ".join(f"{float(d):5.2f}" for d in torch.linalg.det(path)))
