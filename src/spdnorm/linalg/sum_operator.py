"""Functions of the Kronecker sum: V [h(l_i + l_j) (V^T T V)_ij] V^T for X = V diag(l) V^T.

h(s) = 1 / s is the Lyapunov operator; h(s) = sqrt(s) is what parallel transport between commuting points of the
Bures-Wasserstein metric is made of (paper, Tab. (opera)). The derivative in X inserts a matrix into the
product, with a divided difference of h over the eigenvalues on its side:

    F(X; H_1..H_k)_{p_0 p_k} = sum h{l_p : p labelled a ; l_p : p labelled b} (H_1)_{p_0 p_1} ... (H_k)_{p_(k-1) p_k}

where every index carries a label, h{;} is the divided difference of h(x + y) in x over the points labelled a and in y
over those labelled b, and the operator itself is k = 1 with labels ab. Adjoints rotate the chain, derivatives
duplicate a label: as in :mod:`spdnorm.linalg.spectral`, one function closes the family.
"""

from __future__ import annotations

import itertools
import string
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spdnorm.linalg.autograd import call
from spdnorm.linalg.divided_differences import divided_difference
from spdnorm.linalg.functions import SpectralFunction
from spdnorm.linalg.precision import full_precision
from spdnorm.linalg.spectral import Spectrum
from spdnorm.linalg.symmetric import symmetrize
from spdnorm.linalg.tolerances import rank_tolerance


def _axis(values: Tensor, position: int, count: int) -> Tensor:
    shape = [1] * count
    shape[position] = values.shape[-1]
    return values.reshape(*values.shape[:-1], *shape)


def _coefficients(h: SpectralFunction, values: Tensor, labels: str) -> Tensor:
    """h{;} for all index tuples, shape (..., n, ..., n) with one axis a label."""
    axes = [_axis(values, i, len(labels)) for i in range(len(labels))]
    a = [x for x, label in zip(axes, labels, strict=True) if label == "a"]
    b = [x for x, label in zip(axes, labels, strict=True) if label == "b"]
    floor = 2 * rank_tolerance(values)[(..., *([None] * (len(labels) - 1)))]
    if len(b) > len(a):
        a, b = b, a
    if len(b) == 1:
        return divided_difference(h, [x + b[0] for x in a], floor)
    if len(a) == len(b) == 2:
        return _mixed(h, a, b, floor)
    raise NotImplementedError("functions of the Kronecker sum are differentiable twice, not three times")


def _mixed(h: SpectralFunction, a: list[Tensor], b: list[Tensor], floor: Tensor) -> Tensor:
    """Divided difference of h(x + y) over two points in x and two in y."""

    def over_a(y: Tensor) -> Tensor:
        return divided_difference(h, [a[0] + y, a[1] + y], floor)

    middle, gap = 0.5 * (b[0] + b[1]), b[0] - b[1]
    points = [a[0] + middle, a[1] + middle]
    # At equal y the quotient is the derivative in y of a first divided difference: two second ones.
    limit = divided_difference(h, [points[0], *points], floor) + divided_difference(h, [*points, points[1]], floor)
    small = gap.abs() <= torch.finfo(gap.dtype).eps ** (1 / 3) * h.scale(2 * middle)
    quotient = (over_a(b[0]) - over_a(b[1])) / torch.where(small, torch.ones_like(gap), gap)
    return torch.nan_to_num(torch.where(small, limit, quotient), nan=0.0, posinf=0.0, neginf=0.0)


class _Chain(Function):
    """F(X; H_1..H_k) of the module's docstring."""

    generate_vmap_rule = True

    @staticmethod
    def forward(h: SpectralFunction, labels: str, x: Tensor, values: Tensor, vectors: Tensor, *chain: Tensor) -> Tensor:
        rotated = [vectors.mT @ t @ vectors for t in chain]
        coefficients = _coefficients(h, values, labels)
        if len(chain) == 1:
            inner = coefficients * rotated[0]
        else:
            index = string.ascii_lowercase[: len(labels)]
            pairs = ",".join(f"...{i}{j}" for i, j in itertools.pairwise(index))
            inner = torch.einsum(f"...{index},{pairs}->...{index[0]}{index[-1]}", coefficients, *rotated)
        return vectors @ inner @ vectors.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.function, ctx.labels, *tensors = inputs
        ctx.save_for_backward(*tensors)

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        h, labels = ctx.function, ctx.labels
        x, values, vectors, *chain = ctx.saved_tensors
        if len(chain) == 1:
            # T is symmetric, hence the result: only the symmetric part of its cotangent means anything.
            grad = symmetrize(grad)
        of_chain = [
            _chain(h, labels[m + 1 :] + labels[: m + 1], x, values, vectors, *chain[m + 1 :], grad.mT, *chain[:m]).mT
            if ctx.needs_input_grad[5 + m]
            else None
            for m in range(len(chain))
        ]
        of_x = None
        if ctx.needs_input_grad[2]:
            of_x = (
                _shared_gradient(h, x, values, vectors, grad, chain[0])
                if len(chain) == 1 and not torch.is_grad_enabled()
                else _chain_gradient(h, labels, x, values, vectors, grad, chain)
            )
        return None, None, of_x, None, None, *of_chain


def _chain(h: SpectralFunction, labels: str, x: Tensor, values: Tensor, vectors: Tensor, *chain: Tensor) -> Tensor:
    return call(_Chain, h, labels, x, values, vectors, *chain)


def _chain_gradient(
    h: SpectralFunction, labels: str, x: Tensor, values: Tensor, vectors: Tensor, grad: Tensor, chain: list[Tensor]
) -> Tensor:
    """Gradient in X, differentiable again: one longer chain for each place where dX can stand."""
    terms = [
        _chain(h, labels[m:] + labels[: m + 1], x, values, vectors, *chain[m:], grad.mT, *chain[:m])
        for m in range(len(labels))
    ]
    return symmetrize(sum(terms[1:], terms[0]))


def _shared_gradient(
    h: SpectralFunction, x: Tensor, values: Tensor, vectors: Tensor, grad: Tensor, t: Tensor
) -> Tensor:
    """The same for one symmetric T, summed over the samples that share X before the O(n^3) coefficients are met.

    Costs one batched product where the general chain needs n^3 numbers a sample.
    """
    turned = vectors.mT @ grad @ vectors
    inside = vectors.mT @ t @ vectors
    shape = torch.broadcast_shapes(turned.shape, inside.shape)
    extra = len(shape) - x.dim()
    turned, inside = (m.expand(shape).reshape(-1, *shape[extra:]) for m in (turned, inside))
    paired = torch.einsum("s...ij,s...kj->...ikj", turned, inside)
    count = values.shape[-1]
    a, b, c = (_axis(values, i, 3) for i in range(3))
    floor = 2 * rank_tolerance(values)[..., None, None]
    coefficients = divided_difference(h, [a + c, b + c], floor).expand(*values.shape[:-1], count, count, count)
    inner = (coefficients * paired).sum(-1)
    return vectors @ (inner + inner.mT) @ vectors.mT


def sum_operator(x: Spectrum, h: SpectralFunction, t: Tensor) -> Tensor:
    """V [h(l_i + l_j) (V^T T V)_ij] V^T.

    Parameters
    ----------
    x : Spectrum
        Of a symmetric matrix (..., n, n); it may have fewer leading dimensions than ``t``, which share it.
    h : SpectralFunction
    t : Tensor, shape (..., n, n)
        Symmetric.

    Returns
    -------
    Tensor, shape (..., n, n), twice differentiable in X and T

    Examples
    --------
    >>> from spdnorm.linalg import INVERSE, lyapunov, spectrum, sum_operator
    >>> x, s = torch.diag(torch.tensor([1.0, 3.0])), torch.ones(2, 2)
    >>> torch.allclose(sum_operator(spectrum(x), INVERSE, s), lyapunov(x, s))
    True
    """
    return _chain(h, "ab", x.matrix, x.values, x.vectors, t)
