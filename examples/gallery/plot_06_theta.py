"""
What theta does
===============

The power deformation applies a metric to X^θ: from the Bures-Wasserstein metric at θ = 1 towards a log-
Euclidean one as θ goes to 0. On the left distances of scaled identities, on the right what normalisation makes
of a spectrum.
"""

import matplotlib.pyplot as plt
import torch

from spdnorm.geometry import BuresWasserstein, LogEuclidean, PowerDeformed, random_spd
from spdnorm.nn import BWBatchNorm

thetas = (1.0, 0.75, 0.5, 0.25, 0.05)
one = torch.ones(1, 1, dtype=torch.float64)
scales = torch.logspace(-4, 2, 100, dtype=torch.float64)[:, None, None]
x = random_spd(8, 200, condition=1e4, generator=torch.Generator().manual_seed(0))

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for theta in thetas:
    metric = PowerDeformed(BuresWasserstein(), theta)
    color = plt.cm.viridis(theta)
    # Twice the distance: the limit is half the log-Euclidean one.
    axes[0].semilogx(scales.flatten(), 2 * metric.distance(one, scales), color=color, label=f"θ = {theta:g}")
    layer = BWBatchNorm(8, theta=theta, dtype=torch.float64)
    with torch.no_grad():
        layer.scale.fill_(0.5)
        spectrum = torch.linalg.eigvalsh(layer(x)).median(0).values
    axes[1].semilogy(range(1, 9), spectrum, color=color, marker="o")
axes[0].semilogx(scales.flatten(), LogEuclidean().distance(one, scales), "k:", label="log-Euclidean")
axes[0].set(title="distance from 1", xlabel="eigenvalue", ylabel="2 d")
axes[1].set(title="median spectrum after normalisation", xlabel="eigenvalue, ascending")
axes[0].legend()
plt.show()
