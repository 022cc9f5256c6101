"""The log-Cholesky chart: X = L L^T  <->  strictly lower part of L plus the logarithm of its diagonal (Lin 2019)."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg.checks import check_symmetric, checks_active
from spdnorm.linalg.symmetric import solve_congruence, symmetrize


def cholesky(x: Tensor, *, name: str = "x") -> Tensor:
    """Lower-triangular L with X = L L^T, shape (..., n, n); a clear error where ``x`` is not positive definite.

    Examples
    --------
    >>> from spdnorm.linalg import cholesky
    >>> cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    check_symmetric(x, name)
    factor, info = torch.linalg.cholesky_ex(x)
    if checks_active(x) and bool((info != 0).any()):
        raise ValueError(
            f"`{name}` must be positive definite, its Cholesky factorisation fails: add a multiple of the identity"
        )
    return factor


def diagonal_split(l: Tensor) -> tuple[Tensor, Tensor]:  # noqa: E741
    """Strictly lower part (..., n, n) and diagonal (..., n) of a lower-triangular matrix."""
    return l.tril(-1), l.diagonal(dim1=-2, dim2=-1)


def log_diagonal(l: Tensor) -> Tensor:  # noqa: E741
    """Lower-triangular L with positive diagonal -> strictly lower part plus log of the diagonal.

    Examples
    --------
    >>> from spdnorm.linalg import log_diagonal
    >>> log_diagonal(torch.tensor([[1.0, 0.0], [5.0, 1.0]]))
    tensor([[0., 0.],
            [5., 0.]])
    """
    strict, diagonal = diagonal_split(l)
    return strict + torch.diag_embed(torch.log(diagonal))


def exp_diagonal(y: Tensor) -> Tensor:
    """Inverse of :func:`log_diagonal`.

    Examples
    --------
    >>> from spdnorm.linalg import exp_diagonal
    >>> exp_diagonal(torch.tensor([[0.0, 0.0], [5.0, 0.0]]))
    tensor([[1., 0.],
            [5., 1.]])
    """
    strict, diagonal = diagonal_split(y)
    return strict + torch.diag_embed(torch.exp(diagonal))


def lower_half(x: Tensor) -> Tensor:
    """Strictly lower part plus half the diagonal: the projection in the differential of Cholesky."""
    strict, diagonal = diagonal_split(x)
    return strict + torch.diag_embed(0.5 * diagonal)


def cholesky_derivative(l: Tensor, h: Tensor) -> Tensor:  # noqa: E741
    """dL = L (L^-1 H L^-T)_half: the differential of X -> L at X = L L^T in direction ``h``.

    Examples
    --------
    >>> from spdnorm.linalg import cholesky_derivative
    >>> cholesky_derivative(torch.eye(2), 2 * torch.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return l @ lower_half(solve_congruence(l, h))


def square_derivative(l: Tensor, z: Tensor) -> Tensor:  # noqa: E741
    """Differential of L -> L L^T in the lower-triangular direction ``z``: L Z^T + Z L^T.

    Examples
    --------
    >>> from spdnorm.linalg import square_derivative
    >>> square_derivative(torch.eye(2), torch.eye(2))
    tensor([[2., 0.],
            [0., 2.]])
    """
    return 2 * symmetrize(z @ l.mT)


def to_log_cholesky(x: Tensor) -> Tensor:
    """SPD (..., n, n) -> log-Cholesky coordinates, lower triangular (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import to_log_cholesky
    >>> to_log_cholesky(torch.tensor([[1.0, 2.0], [2.0, 5.0]]))
    tensor([[0., 0.],
            [2., 0.]])
    """
    return log_diagonal(cholesky(x))


def from_log_cholesky(y: Tensor) -> Tensor:
    """Log-Cholesky coordinates -> SPD (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import from_log_cholesky
    >>> from_log_cholesky(torch.tensor([[0.0, 0.0], [2.0, 0.0]]))
    tensor([[1., 2.],
            [2., 5.]])
    """
    factor = exp_diagonal(y)
    return factor @ factor.mT
