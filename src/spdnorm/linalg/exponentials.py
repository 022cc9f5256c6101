"""Exponentials exp(p S) of a few symmetric matrices at once, for parameters that live in the tangent space at I."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spdnorm.linalg import native
from spdnorm.linalg.eigh import compiled, eigh
from spdnorm.linalg.functions import Exp
from spdnorm.linalg.native import Term
from spdnorm.linalg.precision import full_precision
from spdnorm.linalg.spectral import Spectrum, spectrum
from spdnorm.linalg.symmetric import symmetrize


@full_precision
def logarithm(s: Tensor) -> Spectrum:
    """The spectrum of log X for a parameter S (..., n, n), eigenvalues at least log(10 n eps) below the largest.

    Derivatives are those of exp at the raised eigenvalues, so that they can come back.

    Examples
    --------
    >>> from spdnorm.linalg import logarithm
    >>> logarithm(torch.zeros(2, 2)).values
    tensor([0., 0.])
    """
    found = spectrum(symmetrize(s))
    reach = math.log(10 * max(s.shape[-1], 1) * torch.finfo(s.dtype).eps)
    floor = found.values.amax(-1, keepdim=True) + reach
    return Spectrum(found.matrix, torch.maximum(found.values, floor), found.vectors)


class _Exponentials(Function):
    """All terms by one call each way; where gradients are differentiated again, by the composition."""

    @staticmethod
    def forward(ctx: Any, terms: Sequence[Term], *matrices: Tensor) -> tuple[Tensor, ...]:
        # Parameters are full matrices, of which the symmetric part counts.
        values, vectors = eigh(symmetrize(torch.stack(matrices)))
        out = native.exponentials(values, vectors, terms)
        ctx.terms = terms
        ctx.save_for_backward(values, vectors, *matrices)
        ctx.set_materialize_grads(False)
        return out.unbind()

    @staticmethod
    @full_precision
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        values, vectors, *matrices = ctx.saved_tensors
        found: Iterator[Tensor | None]
        if torch.is_grad_enabled():
            aliases = [m.view_as(m) for m in matrices]
            pairs = [(o, g) for o, g in zip(_composition(aliases, ctx.terms), grads, strict=True) if g is not None]
            wanted = [a for a in aliases if a.requires_grad]
            outputs, cotangents = [o for o, _ in pairs], [g for _, g in pairs]
            found = iter(torch.autograd.grad(outputs, wanted, cotangents, create_graph=True, allow_unused=True))
        else:
            of_s = native.exponentials_adjoint(values, vectors, ctx.terms, grads)
            found = iter([g for g, m in zip(of_s, matrices, strict=True) if m.requires_grad])
        return None, *(next(found) if m.requires_grad else None for m in matrices)


def _composition(matrices: Sequence[Tensor], terms: Sequence[Term]) -> tuple[Tensor, ...]:
    found = logarithm(torch.stack(list(matrices)))
    each = [Spectrum(*parts) for parts in zip(found.matrix, found.values, found.vectors, strict=True)]
    return tuple(each[which].apply(Exp(rate)) for which, rate in terms)


@full_precision
def exponentials(matrices: Sequence[Tensor], terms: Sequence[Term]) -> tuple[Tensor, ...]:
    """exp(rate S) for each term (index of S, rate) of parameters S (..., n, n) of one shape, by one eigendecomposition.

    Examples
    --------
    >>> from spdnorm.linalg import exponentials
    >>> root, inverse_root = exponentials([torch.zeros(2, 2)], [(0, 0.5), (0, -0.5)])
    >>> root
    tensor([[1., 0.],
            [0., 1.]])
    """
    if matrices[0].dim() != 2 or not compiled(matrices[0]):
        return _composition(matrices, terms)
    out: tuple[Tensor, ...] = _Exponentials.apply(terms, *matrices)
    return out
