"""
What a layer costs
==================

Eigendecompositions are the price of Riemannian normalisation. They can be counted, forward and backward, and
timed: one batch of 32 matrices through each layer, on one thread.
"""

import time

import matplotlib.pyplot as plt
import torch

from spdnorm.geometry import random_spd
from spdnorm.nn import norm_layer
from spdnorm.testing import count_decompositions

torch.set_num_threads(1)
layers = {
    "GBWBN, θ = 1": ("gbw", {}),
    "GBWBN, θ = 1/2": ("gbw", {"theta": 0.5}),
    "GBWBN, θ = 0.7": ("gbw", {"theta": 0.7}),
    "SPDBN": ("spd", {}),
    "SPDMBN": ("spdm", {}),
    "LieBN, AIM": ("lie", {}),
    "LieBN, LEM": ("lie", {"metric": "lem"}),
    "LieBN, LCM": ("lie", {"metric": "lcm"}),
}
sizes = (8, 16, 32)
counts, seconds = {}, {name: [] for name in layers}
for n in sizes:
    x = random_spd(n, 32, condition=2.0, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for name, (norm, options) in layers.items():
        layer = norm_layer(norm, n, dtype=torch.float64, **options)
        layer(x).sum().backward()
        with count_decompositions() as count:
            layer(x)
        counts[name] = count.eigh / 32
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            layer(x).sum().backward()
            best = min(best, time.perf_counter() - start)
        seconds[name].append(best)

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].barh(list(counts), list(counts.values()), color="tab:blue")
axes[0].invert_yaxis()
axes[0].set(title="eigendecompositions a sample (forward)")
for name, values in seconds.items():
    axes[1].loglog(sizes, [1e3 * v for v in values], marker="o", label=name)
axes[1].set(title="forward and backward (ms)", xlabel="matrix size n")
axes[1].set_xticks(sizes, labels=map(str, sizes))
axes[1].minorticks_off()
axes[1].legend(fontsize=7)
plt.show()
