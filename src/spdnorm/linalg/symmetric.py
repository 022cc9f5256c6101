"""Products and vectorisation of symmetric matrices."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def symmetrize(x: Tensor) -> Tensor:
    """(X + X^T) / 2, shape (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import symmetrize
    >>> symmetrize(torch.tensor([[1.0, 2.0], [0.0, 1.0]]))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return 0.5 * (x + x.mT)


def congruence(a: Tensor, x: Tensor) -> Tensor:
    """A X A^T for ``a`` (..., m, n) and ``x`` (..., n, n), symmetric to the last bit when ``x`` is.

    Examples
    --------
    >>> from spdnorm.linalg import congruence
    >>> congruence(torch.tensor([[1.0, 1.0]]), torch.eye(2))
    tensor([[2.]])
    """
    return symmetrize(a @ x @ a.mT)


def solve_congruence(c: Tensor, x: Tensor) -> Tensor:
    """C^-1 X C^-T for lower-triangular ``c`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import solve_congruence
    >>> solve_congruence(2 * torch.eye(2), 4 * torch.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    half = torch.linalg.solve_triangular(c, x, upper=False)
    return symmetrize(torch.linalg.solve_triangular(c, half.mT, upper=False))


def eye_like(x: Tensor) -> Tensor:
    """The identity (n, n) with the size, dtype and device of ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import eye_like
    >>> eye_like(torch.zeros(7, 2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)


def trace(x: Tensor) -> Tensor:
    """Trace over the last two axes, shape (...).

    Examples
    --------
    >>> from spdnorm.linalg import trace
    >>> trace(torch.eye(3).expand(2, 3, 3))
    tensor([3., 3.])
    """
    return x.diagonal(dim1=-2, dim2=-1).sum(-1)


def frobenius(x: Tensor, y: Tensor) -> Tensor:
    """Frobenius inner product over the last two axes, shape (...).

    Examples
    --------
    >>> from spdnorm.linalg import frobenius
    >>> frobenius(torch.eye(3), 2 * torch.eye(3))
    tensor(6.)
    """
    return (x * y).sum((-2, -1))


def _indices(n: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = torch.tril_indices(n, n, device=device)
    return rows, columns, rows == columns


def vec(x: Tensor) -> Tensor:
    """Half-vectorisation that keeps the norm: lower triangle, off-diagonal entries times sqrt(2).

    Shape (..., n, n) -> (..., n (n + 1) / 2), with ``vec(x) . vec(y) = tr(x y)``.

    Examples
    --------
    >>> from spdnorm.linalg import vec
    >>> vec(torch.eye(3))
    tensor([1., 0., 1., 0., 0., 1.])
    """
    rows, columns, diagonal = _indices(x.shape[-1], x.device)
    entries = x[..., rows, columns]
    return torch.where(diagonal, entries, math.sqrt(2.0) * entries)


def unvec(v: Tensor) -> Tensor:
    """Inverse of :func:`vec`: (..., n (n + 1) / 2) -> symmetric (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import unvec
    >>> unvec(torch.tensor([1.0, 0.0, 1.0]))
    tensor([[1., 0.],
            [0., 1.]])
    """
    length = v.shape[-1]
    n = (math.isqrt(8 * length + 1) - 1) // 2
    if n * (n + 1) // 2 != length:
        raise ValueError(f"`v` must have n (n + 1) / 2 entries on its last axis, got {length}")
    rows, columns, diagonal = _indices(n, v.device)
    entries = torch.where(diagonal, 0.5 * v, math.sqrt(0.5) * v)
    lower = v.new_zeros(*v.shape[:-1], n * n)
    lower = lower.index_copy(-1, rows * n + columns, entries).unflatten(-1, (n, n))
    return lower + lower.mT


def safe_sqrt(x: Tensor) -> Tensor:
    """Square root of a non-negative tensor with derivative 0 at 0, where the true one is infinite.

    A distance has no gradient at coinciding points; 0 is the subgradient that leaves them in place.

    Examples
    --------
    >>> from spdnorm.linalg import safe_sqrt
    >>> x = torch.tensor([0.0, 4.0], requires_grad=True)
    >>> safe_sqrt(x).sum().backward()
    >>> x.grad
    tensor([0.0000, 0.2500])
    """
    positive = x > 0
    return torch.where(positive, torch.sqrt(torch.where(positive, x, torch.ones_like(x))), torch.zeros_like(x))


def safe_rsqrt(x: Tensor) -> Tensor:
    """1 / sqrt(x) of a non-negative tensor, 0 with derivative 0 at 0.

    What divides by a standard deviation that is 0 has nothing to scale: every deviation is 0 as well.

    Examples
    --------
    >>> from spdnorm.linalg import safe_rsqrt
    >>> safe_rsqrt(torch.tensor([0.0, 4.0]))
    tensor([0.0000, 0.5000])
    """
    zero = x == 0  # alone: NaN stays NaN
    return torch.where(zero, torch.zeros_like(x), torch.rsqrt(torch.where(zero, torch.ones_like(x), x)))
