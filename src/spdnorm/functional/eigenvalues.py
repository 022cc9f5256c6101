"""Eigenvalues as differentiable features, and matrices rebuilt from new ones.

The first derivative of the ordered eigenvalues, d l_i = u_i^T dX u_i, has no pole at equal eigenvalues; only the
second has the gaps in its denominator.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from spdnorm.linalg import Spectrum, call, full_precision, rank_tolerance


class _Rebuild(Function):
    """U diag(d) U^T as a function of X (through U) and of d."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, values: Tensor, vectors: Tensor, d: Tensor) -> Tensor:
        return (vectors * d.unsqueeze(-2)) @ vectors.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, values, vectors, d = inputs
        ctx.save_for_backward(values, vectors, d)

    @staticmethod
    @once_differentiable
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        values, vectors, d = ctx.saved_tensors
        rotated = vectors.mT @ grad @ vectors
        of_x = None
        if ctx.needs_input_grad[0]:
            gap = values.unsqueeze(-1) - values.unsqueeze(-2)
            # Within a repeated eigenvalue the eigenvectors are arbitrary: no derivative is taken along them.
            same = gap.abs() <= rank_tolerance(values).unsqueeze(-1)
            slope = (d.unsqueeze(-1) - d.unsqueeze(-2)) / torch.where(same, torch.ones_like(gap), gap)
            symmetric = 0.5 * (rotated + rotated.mT)
            of_x = vectors @ (torch.where(same, torch.zeros_like(slope), slope) * symmetric) @ vectors.mT
        return of_x, None, None, rotated.diagonal(dim1=-2, dim2=-1)


class _Eigenvalues(Function):
    """The ordered eigenvalues, differentiable twice."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, values: Tensor, vectors: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, values, vectors = ctx.saved_tensors
        return call(_Rebuild, x, values, vectors, grad), None, None


def eigenvalues(s: Spectrum) -> Tensor:
    """Ascending eigenvalues (..., n) of a decomposed matrix, through which gradients flow.

    Examples
    --------
    >>> from spdnorm.functional import eigenvalues
    >>> from spdnorm.linalg import spectrum
    >>> x = torch.diag(torch.tensor([1.0, 3.0])).requires_grad_()
    >>> eigenvalues(spectrum(x)).sum().backward()
    >>> x.grad
    tensor([[1., 0.],
            [0., 1.]])
    """
    return call(_Eigenvalues, s.matrix, s.values, s.vectors)


def with_eigenvalues(s: Spectrum, values: Tensor) -> Tensor:
    """The matrix (..., n, n) with the eigenvectors of ``s`` and these eigenvalues (..., n); once differentiable.

    Where eigenvalues of ``s`` repeat, and ``values`` differ on them, the result is not continuous in ``s``.

    Examples
    --------
    >>> from spdnorm.functional import with_eigenvalues
    >>> from spdnorm.linalg import spectrum
    >>> with_eigenvalues(spectrum(torch.diag(torch.tensor([1.0, 3.0]))), torch.tensor([2.0, 5.0]))
    tensor([[2., 0.],
            [0., 5.]])
    """
    return call(_Rebuild, s.matrix, s.values, s.vectors, values)
