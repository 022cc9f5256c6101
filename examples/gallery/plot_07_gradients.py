"""
Gradients at equal eigenvalues
==============================

The derivative of an eigendecomposition divides by the gap of eigenvalues, although the derivative of a matrix
function needs no gap at all. The error of the matrix logarithm's gradient, through ``torch.linalg.eigh`` and
through :func:`spdnorm.linalg.logm`, as two eigenvalues approach each other.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from spdnorm.linalg import logm

vectors = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
direction = torch.tensor([[0.3, 0.5, -0.2], [0.5, 0.1, 0.4], [-0.2, 0.4, 0.7]], dtype=torch.float64)


def gradient(function, gap: float) -> torch.Tensor:
    values = torch.tensor([2.0, 2.0 + gap, 3.0], dtype=torch.float64)
    x = ((vectors * values) @ vectors.T).requires_grad_()
    (function(0.5 * (x + x.T)) * direction).sum().backward()
    return x.grad


def exact(gap: float) -> torch.Tensor:
    """By divided differences: log1p(gap) / gap for the near pair."""
    values = np.array([2.0, 2.0 + gap, 3.0])
    quotient = np.diag(1 / values)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ratio = values[j] / values[i] - 1
        quotient[i, j] = quotient[j, i] = (np.log1p(ratio) / ratio if ratio else 1.0) / values[i]
    q = torch.from_numpy(quotient)
    return vectors @ (q * (vectors.T @ direction @ vectors)) @ vectors.T


def through_eigh(x: torch.Tensor) -> torch.Tensor:
    values, frame = torch.linalg.eigh(x)
    return (frame * values.log()) @ frame.mT


gaps = np.logspace(-15.5, 0, 40)
figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
for function, name in ((through_eigh, "torch.linalg.eigh"), (logm, "spdnorm.linalg.logm")):
    error = [float((gradient(function, g) - exact(g)).norm() / exact(g).norm()) for g in gaps]
    axis.loglog(gaps, error, marker=".", label=name)
axis.set(xlabel="gap of two eigenvalues", ylabel="relative error of the gradient")
axis.legend()
plt.show()

# %%
# And at a gap of exactly 0, as at the identity:

x = torch.eye(3, dtype=torch.float64, requires_grad=True)
(through_eigh(x) * direction).sum().backward()
print("through eigh:", x.grad[0].tolist())
x.grad = None
(logm(x) * direction).sum().backward()
print("through logm:", x.grad[0].tolist())
