"""
Why Bures-Wasserstein is milder on small eigenvalues
====================================================

At the identity the logarithm and the exponential act on eigenvalues alone. Under the affine-invariant metric
they are the scalar log and exp, which stretch what is near 0 or far from 1; under the Bures-Wasserstein metric
they are a square root and a square.
"""

import matplotlib.pyplot as plt
import torch

from spdnorm.geometry import AffineInvariant, BuresWasserstein

one = torch.ones(1, 1, dtype=torch.float64)
values = torch.logspace(-8, 1, 200, dtype=torch.float64)[:, None, None]
speeds = torch.linspace(-1.9, 5, 200, dtype=torch.float64)[:, None, None]
metrics = {"affine-invariant": AffineInvariant(), "Bures-Wasserstein": BuresWasserstein()}

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, metric in metrics.items():
    axes[0].plot(values.flatten(), metric.log(one, values).flatten(), label=name)
    axes[1].plot(speeds.flatten(), metric.exp(one, speeds).flatten(), label=name)
axes[0].set(xscale="log", title="logarithm at the identity", xlabel="eigenvalue", ylabel="of the tangent vector")
axes[1].set(yscale="log", title="exponential at the identity", xlabel="eigenvalue", ylabel="of the point")
axes[0].legend()
plt.show()

# %%
# Distances from the identity to a matrix with one small eigenvalue say the same in numbers.

for name, metric in metrics.items():
    distances = [float(metric.distance(one, torch.full_like(one, v))) for v in (1e-2, 1e-4, 1e-8)]
    print(f"{name:18}", " ".join(f"{d:6.2f}" for d in distances))
