"""Bures-Wasserstein normalisation, compiled: for the CPU, without channels.

One sample's matrices are too small for the processor's vector units, and a torch call on a batch of them costs more
than its arithmetic. Here several samples go through each pass side by side, in the lanes of vector registers, and what
all samples share is computed beside them without leaving C++. The mathematics is that of
:mod:`spdnorm.functional.kernels.bw_barycentre` and :mod:`spdnorm.functional.kernels.bw_normalise`, file by file:

- ``passes.hpp``, ``roots.hpp``, ``fold.hpp``: what is done sample by sample;
- ``shared.hpp``: n x n matrices; ``problem.hpp``: what goes in, comes out and is kept;
- ``forward.hpp``, ``backward.hpp``: the two directions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spdnorm.functional.kernels.native._library import Call, towards, unavailable
from spdnorm.linalg import check_congruent, compiled
from spdnorm.linalg.native import LARGEST

__all__ = ["Found", "Kept", "Wanted", "backward", "forward", "towards", "unavailable", "usable"]


class Kept(NamedTuple):
    """What the way back needs: what samples share, what each has for itself, in lanes, and its fold where there is one.

    ``problem.hpp`` has the layout.
    """

    state: Tensor
    lanes: Tensor
    fold: Tensor | None


class Found(NamedTuple):
    """Normalised samples, the statistics that were used, and the mean's eigenvalues and eigenvectors."""

    out: Tensor
    mean: Tensor
    variance: Tensor
    values: Tensor
    basis: Tensor


class Wanted(NamedTuple):
    """Which of the gradients are due, besides that of the samples."""

    k: bool
    outward: bool
    anchor: bool
    scale: bool
    mean: bool
    variance: bool


def usable(x: Tensor, *others: Tensor | None) -> bool:
    """Whether ``x`` (N, ..., n, n) goes this way: without channels, all of one dtype on the CPU, not too large."""
    if x.dim() != 3 or x.shape[-1] > LARGEST or not compiled(x) or unavailable() is not None:
        return False
    return all(t is None or (t.dtype == x.dtype and t.device == x.device) for t in others)


def forward(inputs: tuple[Tensor | None, ...], *, eps: float, weight: float) -> tuple[Found, Kept] | None:
    """Normalise; ``inputs`` are those of :func:`spdnorm.functional.kernels.bw_fused.normalise`.

    None where an eigendecomposition does not converge (NaN): others have the words for it.
    """
    call = Call(inputs, eps=eps, weight=weight)
    x, n = call.x, call.x.shape[-1]
    kept = Kept(x.new_empty(call.state_size), call.room(call.kept_size), None)
    found = Found(torch.empty_like(x), x.new_empty(n, n), x.new_empty(()), x.new_empty(n), x.new_empty(n, n))
    told = x.new_empty(3)
    if call("statistics", kept, [*found, told]):
        return None
    check_congruent(told[:2], "x")
    if told[2]:
        kept = kept._replace(fold=call.room(call.fold_size))
    return None if call("samples", kept, [*found, told]) else (found, kept)


def backward(
    inputs: tuple[Tensor | None, ...],
    kept: Kept,
    grad: Tensor,
    wanted: Wanted,
    *,
    eps: float,
    weight: float,
    own_statistics: bool,
) -> tuple[Tensor | None, ...]:
    """Gradients of ``inputs``; ``own_statistics`` sends them through the batch's mean and variance."""
    call = Call(inputs, eps=eps, weight=weight, own_statistics=own_statistics)
    x, n = call.x, call.x.shape[-1]
    shapes = (n, n), (n, n), (n, n), (), (n, n), ()
    found = [x.new_empty(shape) if due else None for shape, due in zip(shapes, wanted, strict=True)]
    of_x = torch.empty_like(x)
    call("gradients", kept, [grad.contiguous(), of_x, *found])
    return of_x, *found
