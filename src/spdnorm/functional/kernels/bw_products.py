"""Products and spectral weights that the fused Bures-Wasserstein normalisation is made of.

Samples lie on axis 0, channels (if any) between them and the matrices: x (N, ..., n, n), shared p (..., n, n). What all
samples share enters as one large matrix product, sums over samples are taken before the n x n quantities are met.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spdnorm.linalg import check_congruent, eigh, rank_tolerance


class Roots(NamedTuple):
    """Eigenbasis V (..., n, n) of a shared matrix, its eigenvalues and their roots and inverse roots (..., n)."""

    values: Tensor
    basis: Tensor
    root: Tensor
    inverse: Tensor


def _threshold(values: Tensor) -> Tensor:
    """:func:`spdnorm.linalg.rank_tolerance` of a positive semi-definite spectrum in ascending order."""
    return values[..., -1:] * (values.shape[-1] * torch.finfo(values.dtype).eps)


def roots_of(shared: Tensor, *, definite: bool = False) -> Roots:
    """Decompose a shared matrix; its inverse root is 0 on the numerical null space.

    A ``definite`` one has no eigenvalue below its rank tolerance, whatever rounding has made of M^-1/2 G^theta M^-1/2.
    """
    values, basis = eigh(shared)
    threshold = _threshold(values)
    if definite:
        values = torch.maximum(values, threshold)
    root = values.clamp_min(0).sqrt_()
    inverse = root.reciprocal()
    return Roots(values, basis, root, inverse if definite else inverse.masked_fill_(values <= threshold, 0.0))


def right(x: Tensor, p: Tensor) -> Tensor:
    """X P: one product when ``p`` is (n, m)."""
    if p.dim() == 2:
        return (x.reshape(-1, x.shape[-1]) @ p).view(*x.shape[:-1], p.shape[-1])
    return x @ p


def multiply_add(total: Tensor, p: Tensor, x: Tensor) -> Tensor:
    """``total`` + P X, in place in ``total`` where there are no channels."""
    if p.dim() == 2:
        return total.baddbmm_(p.expand(x.shape[0], *p.shape), x)
    return total + p @ x


def pair(a: Tensor, b: Tensor, lead: int) -> Tensor:
    """Sum over samples of A^T B, shape (..., n, n), with ``lead`` axes of channels."""
    if lead == 0:
        return a.reshape(-1, a.shape[-1]).mT @ b.reshape(-1, b.shape[-1])
    return (a.mT @ b).sum(0)


def outer(a: Tensor, b: Tensor, lead: int) -> Tensor:
    """P_jik = sum over samples of A_ij B_kj for symmetric samples, shape (..., n, n, n), j first."""
    if lead == 0:
        # Strides alone make each j a matrix product over samples: nothing is copied.
        return torch.bmm(a.permute(1, 2, 0), b.permute(1, 0, 2))
    return torch.einsum("s...ij,s...kj->...jik", a, b)


def sum_gradient(products: Tensor, values: Tensor, power: float) -> Tensor:
    """Gradient in X, in its eigenbasis, of the operator (x_i + x_j)^power, from the P_jik of :func:`outer`.

    sum_j h[x_i + x_j, x_k + x_j] P_jik with h the power 1/2 or -1/2.
    """
    total = values.unsqueeze(-1) + values.unsqueeze(-2)
    null = total <= 2 * rank_tolerance(values).unsqueeze(-1)
    root = total.masked_fill(null, 0.0).sqrt_()
    # Axes (..., j, i, k): root_ij + root_kj.
    both = root.unsqueeze(-1) + root.unsqueeze(-2)
    quotient = both.reciprocal_().masked_fill_(both.isinf(), 0.0)
    if power == -0.5:
        inverse = root.reciprocal().masked_fill_(null, 0.0)
        quotient = quotient.mul_(inverse.unsqueeze(-1)).mul_(inverse.unsqueeze(-2)).neg_()
    inner = (quotient * products).sum(-3)
    return inner + inner.mT


def root_loewner(of: Roots) -> tuple[Tensor, Tensor]:
    """Loewner matrices (..., n, n) of the square root and of its pseudo-inverse on a shared spectrum."""
    null = of.inverse == 0
    total = of.root.unsqueeze(-1) + of.root.unsqueeze(-2)
    of_root = total.reciprocal().masked_fill_(null.unsqueeze(-1) & null.unsqueeze(-2), 0.0)
    product = of.inverse.unsqueeze(-1) * of.inverse.unsqueeze(-2)
    # Where one of the two is in the null space the difference quotient is (high^-1/2 - 0) / (high - 0).
    mixed = (of.inverse.unsqueeze(-1) + of.inverse.unsqueeze(-2)) ** 3
    return of_root, torch.where(product > 0, -product * of_root, mixed)


class SampleRoot(NamedTuple):
    """The samples' eigendecomposition as U^T (rows are eigenvectors) and the roots of their eigenvalues (N, ..., n)."""

    basis: Tensor
    root: Tensor
    null: Tensor


def sample_root(y: Tensor) -> tuple[SampleRoot, Tensor]:
    """Decompose positive semi-definite samples; also R with R^T R = Y^1/2."""
    values, vectors = eigh(y)
    check_congruent(values, "x")
    root = values.clamp_min(0).sqrt()
    basis = vectors.mT.contiguous()
    return SampleRoot(basis, root, values <= _threshold(values)), basis * root.sqrt().unsqueeze(-1)


def sample_root_adjoint(of: SampleRoot, rotated: Tensor) -> Tensor:
    """Gradient in Y of Y^1/2 from U^T S U (paper, Eqs. (svd) and (dif)); ``rotated`` is overwritten."""
    total = of.root.unsqueeze(-1) + of.root.unsqueeze(-2)
    inner = rotated.div_(total)
    if inner.device.type != "cpu" or bool(of.null.any()):
        inner = inner.masked_fill_(of.null.unsqueeze(-1) & of.null.unsqueeze(-2), 0.0)
    return of.basis.mT @ inner @ of.basis
