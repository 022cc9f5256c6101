"""
Barycentres and their iterations
================================

The Bures-Wasserstein barycentre is the limit of a fixed-point iteration. Batch normalisation takes one step of
it in training; here is how far that is, and how fast the rest goes, for well- and for ill-conditioned batches.
"""

import matplotlib.pyplot as plt
import torch

from spdnorm.geometry import AffineInvariant, BuresWasserstein, random_spd

steps = range(8)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
for axis, metric in zip(axes, (BuresWasserstein(), AffineInvariant()), strict=True):
    for condition in (10.0, 1e3, 1e6):
        xs = random_spd(10, 50, condition=condition, generator=torch.Generator().manual_seed(0))
        exact = metric.mean(xs)
        error = [float(metric.distance(metric.mean(xs, iterations=k), exact)) for k in steps]
        axis.semilogy(steps, error, marker="o", label=f"condition {condition:.0e}")
    axis.set(title=type(metric).__name__, xlabel="steps from the arithmetic mean", ylabel="distance to the barycentre")
axes[0].legend()
plt.show()

# %%
# ``return_info`` tells how many steps were needed and what residual is left.

xs = random_spd(10, 50, condition=1e3, generator=torch.Generator().manual_seed(0))
for metric in (BuresWasserstein(), AffineInvariant()):
    result = metric.mean(xs, return_info=True)
    print(f"{type(metric).__name__:18} {result.iterations} steps, residual {float(result.residual):.1e}")
