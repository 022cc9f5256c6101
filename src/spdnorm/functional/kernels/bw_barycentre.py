"""One step of the fixed point for the barycentre, forward and backward (paper, Eq. (mean_compute2)).

With A = K mean(X) K = V a V^T and P = a^1/2 V^T K, the samples P X P^T have the roots S_i, and

    B = C^T C,    C = mean(S) a^-1/2 V^T.

The mean of the roots is one product of scaled eigenvectors: no root of a sample is ever formed. Products that cost less
than the memory to keep them are computed again in the backward pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor

from spdnorm.functional.kernels.bw_passes import Passes
from spdnorm.functional.kernels.bw_products import Roots, root_loewner, roots_of
from spdnorm.linalg import symmetrize


class Saved(NamedTuple):
    """What the backward pass needs."""

    arithmetic: Tensor
    at: Roots
    p: Tensor
    samples: Any
    mean_root: Tensor
    half: Tensor


class Gradients(NamedTuple):
    """Gradients of the samples and of K."""

    of_x: Tensor
    of_k: Tensor | None


def forward(passes: Passes, x: Tensor, k: Tensor | None) -> tuple[Tensor, Saved]:
    """The barycentre B (..., n, n) of K X K after one step from their arithmetic mean."""
    arithmetic = x.mean(0)
    at = roots_of(arithmetic if k is None else k @ arithmetic @ k.mT)
    p = at.root.unsqueeze(-1) * at.basis.mT
    p = p if k is None else p @ k
    total, samples = passes.root_sum(x, p)
    mean_root = total / x.shape[0]
    half = mean_root @ (at.inverse.unsqueeze(-1) * at.basis.mT)
    return half.mT @ half, Saved(arithmetic, at, p, samples, mean_root, half)


def backward(passes: Passes, saved: Saved, x: Tensor, k: Tensor | None, grad: Tensor, of_x: Tensor) -> Gradients:
    """Gradients from a symmetric one in B, that of the samples on top of ``of_x``, in place."""
    arithmetic, at, p, samples, mean_root, half = saved
    of_half = 2 * half @ grad
    of_mean_root = symmetrize(of_half @ (at.basis * at.inverse.unsqueeze(-2))) / x.shape[0]
    of_x, of_p = passes.root_sum_adjoint(samples, x, p, of_mean_root, of_x)
    of_root = of_p @ at.basis if k is None else of_p @ k.mT @ at.basis
    of_inverse = mean_root @ of_half @ at.basis
    loewner, inverse_loewner = root_loewner(at)
    inside = loewner * symmetrize(of_root) + inverse_loewner * symmetrize(of_inverse)
    of_at = at.basis @ inside @ at.basis.mT
    of_all, of_k = of_at, None
    if k is not None:
        of_all = k.mT @ of_at @ k
        of_k = 2 * of_at @ k @ arithmetic + (at.basis * at.root.unsqueeze(-2)) @ of_p
    # Through the arithmetic mean every sample is owed the same.
    return Gradients(of_x.add_(of_all / x.shape[0]), of_k)
