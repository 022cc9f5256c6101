"""One step of the fixed point for the barycentre, forward and backward (paper, Eq. (mean_compute2)).

With A = K mean(X) K = V a V^T and P = a^1/2 V^T K, the samples P X P^T have the roots S_i, and

    B = C^T C,    C = mean(S) a^-1/2 V^T.

The mean of the roots is one product of scaled eigenvectors: no root of a sample is ever formed. Products that cost less
than the memory to keep them are computed again in the backward pass.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from spdnorm.functional.kernels.bw_products import (
    Roots,
    SampleRoot,
    pair,
    right,
    root_loewner,
    roots_of,
    sample_root,
    sample_root_adjoint,
)
from spdnorm.linalg import symmetrize


class Saved(NamedTuple):
    """What the backward pass needs."""

    arithmetic: Tensor
    at: Roots
    p: Tensor
    samples: SampleRoot
    mean_root: Tensor
    half: Tensor


class Gradients(NamedTuple):
    """P, the gradient T with P^T T that of the samples, the same gradient for each of them, and that of K."""

    p: Tensor
    of_samples: Tensor
    of_all: Tensor
    of_k: Tensor | None


def forward(x: Tensor, k: Tensor | None) -> tuple[Tensor, Saved]:
    """The barycentre B (..., n, n) of K X K after one step from their arithmetic mean."""
    count, lead = x.shape[0], x.dim() - 3
    arithmetic = x.mean(0)
    at = roots_of(arithmetic if k is None else k @ arithmetic @ k.mT)
    p = at.root.unsqueeze(-1) * at.basis.mT
    p = p if k is None else p @ k
    samples, scaled = sample_root(right(p @ x, p.mT))
    mean_root = pair(scaled, scaled, lead) / count
    half = mean_root @ (at.inverse.unsqueeze(-1) * at.basis.mT)
    return half.mT @ half, Saved(arithmetic, at, p, samples, mean_root, half)


def backward(saved: Saved, x: Tensor, k: Tensor | None, grad: Tensor) -> Gradients:
    """Gradients from a symmetric one in B."""
    arithmetic, at, p, samples, mean_root, half = saved
    count, lead = x.shape[0], x.dim() - 3
    of_half = 2 * half @ grad
    of_mean_root = symmetrize(of_half @ (at.basis * at.inverse.unsqueeze(-2))) / count
    of_y = sample_root_adjoint(samples, right(samples.basis, of_mean_root) @ samples.basis.mT)
    through_p = 2 * pair(of_y, p @ x, lead)
    of_root = through_p @ at.basis if k is None else through_p @ k.mT @ at.basis
    of_inverse = mean_root @ of_half @ at.basis
    loewner, inverse_loewner = root_loewner(at)
    inside = loewner * symmetrize(of_root) + inverse_loewner * symmetrize(of_inverse)
    of_at = at.basis @ inside @ at.basis.mT
    of_all, of_k = of_at, None
    if k is not None:
        of_all = k.mT @ of_at @ k
        of_k = 2 * of_at @ k @ arithmetic + (at.basis * at.root.unsqueeze(-2)) @ through_p
    return Gradients(p, right(of_y, p), of_all / count, of_k)
