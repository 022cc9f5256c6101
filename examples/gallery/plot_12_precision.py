"""
float32 or float64
==================

The same normalisation in both precisions, on batches of growing condition number. What does not invert loses
few digits; what takes logarithms of small eigenvalues loses as many as the condition number has.
"""

import matplotlib.pyplot as plt
import torch

from spdnorm.nn import norm_layer
from spdnorm.testing import spd_matrices

conditions = torch.logspace(0.5, 5, 10)
methods = {
    "BWBN": ("bw", {}),
    "BWBN, θ = 1/2": ("bw", {"theta": 0.5}),
    "SPDMBN": ("spdm", {}),
    "LieBN, LEM": ("lie", {"metric": "lem"}),
}
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (norm, options) in methods.items():
    errors = []
    for condition in conditions:
        x = spd_matrices(8, 30, condition=float(condition)).float()
        single = norm_layer(norm, 8, floor=None, dtype=torch.float32, **options)(x)
        double = norm_layer(norm, 8, floor=None, dtype=torch.float64, **options)(x.double())
        difference = torch.linalg.matrix_norm(single.double() - double) / torch.linalg.matrix_norm(double)
        errors.append(float(difference.max().detach()))
    axis.loglog(conditions, errors, marker="o", label=name)
axis.axhline(torch.finfo(torch.float32).eps, color="black", linestyle=":", label="epsilon")
axis.set(xlabel="condition number", ylabel="relative difference, float32 against float64")
axis.legend()
plt.show()
