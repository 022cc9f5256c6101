"""The two folds of the Bures-Wasserstein composition as one function of the deviation, forward and backward.

Log_I . Exp_I takes I + E to |I + E|, once after centring and once after scaling by f (paper, Eqs. (center) and (data
scaling)). Both are spectral in E, so that together they are f psi(E) with

    psi(e) = r            where 1 + f r >= 0, and -r - 2 / f elsewhere,        r = |1 + e| - 1:

the identity, exactly, on samples for which neither folds. One eigendecomposition of the others is owed.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spdnorm.linalg import ABS, eigh, eye_like


class Saved(NamedTuple):
    """Rows that fold (None: all), their eigenvectors, 1 + e and 1 + f r, and the factor of each."""

    rows: Tensor | None
    basis: Tensor
    inner: Tensor
    outer: Tensor
    factor: Tensor


def may_look(x: Tensor) -> bool:
    """Whether a look at the data is free: it would keep a GPU waiting."""
    return x.device.type == "cpu"


def _indefinite(w: Tensor) -> Tensor:
    return torch.linalg.cholesky_ex(eye_like(w) + w).info != 0


def _rows(deviation: Tensor, length: Tensor, factor: Tensor) -> Tensor:
    """Samples, of all channels in one row, that fold: a bound on the eigenvalues first, then a Cholesky test."""
    reach = factor.abs().clamp_min(1)
    rows = (length * reach >= 1).flatten().nonzero().squeeze(-1)
    if rows.numel() == 0:
        return rows
    n = deviation.shape[-1]
    some = deviation.reshape(-1, n, n)[rows]
    f = factor.expand(length.shape).reshape(-1)[rows, None, None]
    # I + E and I + f E: for f >= 0 one of them lies between the other and the identity.
    folds = _indefinite(some * f.clamp_min(1))
    if bool((f < 0).any()):
        folds |= _indefinite(some * f)
    return rows[folds]


def forward(deviation: Tensor, length: Tensor, factor: Tensor) -> tuple[Tensor, Saved | None]:
    """psi of deviations (N, ..., n, n) of Frobenius norm ``length`` (N, ...), f = ``factor`` (...).

    On the CPU only the samples that fold are decomposed; a GPU, which a look at the data would keep waiting,
    decomposes all of them, with the same result.
    """
    n = deviation.shape[-1]
    rows, flat = None, deviation.reshape(-1, n, n)
    f = factor.expand(length.shape).reshape(-1, 1)
    if may_look(deviation):
        rows = _rows(deviation, length, factor)
        if rows.numel() == 0:
            return deviation, None
        flat, f = flat[rows], f[rows]
    values, basis = eigh(flat)
    inner = 1 + values
    r = torch.where(inner >= 0, values, -2 - values)
    outer = 1 + f * r
    psi = torch.where(outer >= 0, r, -r - 2 / f)
    folded = (basis * psi.unsqueeze(-2)) @ basis.mT
    saved = Saved(rows, basis, inner, outer, f)
    if rows is not None:
        folded = deviation.reshape(-1, n, n).index_copy(0, rows, folded)
    return folded.reshape(deviation.shape), saved


def backward(saved: Saved | None, grad: Tensor, factor: Tensor) -> tuple[Tensor, Tensor | None]:
    """Gradients in E and, as far as psi depends on it, in f (...); ``grad`` is symmetric and may be overwritten."""
    if saved is None:
        return grad, None
    n = grad.shape[-1]
    rows, basis, inner, outer, f = saved
    flat = grad.reshape(-1, n, n)
    rotated = basis.mT @ (flat if rows is None else flat[rows]) @ basis
    of_f = rotated.diagonal(dim1=-2, dim2=-1) * torch.where(outer >= 0, 0.0, 2 / f.square())
    zero = torch.zeros((), dtype=grad.dtype, device=grad.device)
    slopes = ABS.first(inner.unsqueeze(-1), inner.unsqueeze(-2), zero)
    slopes = slopes * ABS.first(outer.unsqueeze(-1), outer.unsqueeze(-2), zero)
    through = basis @ (slopes * rotated) @ basis.mT
    if rows is None:
        of_deviation, of_each = through, of_f.sum(-1)
    else:
        of_deviation = flat.index_copy_(0, rows, through)
        of_each = of_f.new_zeros(flat.shape[0]).index_copy_(0, rows, of_f.sum(-1))
    return of_deviation.reshape(grad.shape), of_each.reshape(-1, *factor.shape).sum(0)
