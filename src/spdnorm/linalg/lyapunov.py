"""The Lyapunov operator of the Bures-Wasserstein metric and its generalisation.

L_X(S) solves X P + P X = S (paper, Eq. (ly_solve)); L_{X,M}(S) solves X P M + M P X = S (paper, Eq. (metric_gbwm)).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spdnorm.linalg.autograd import call
from spdnorm.linalg.checks import check_alike, check_congruent, check_square
from spdnorm.linalg.cholesky import cholesky
from spdnorm.linalg.precision import full_precision
from spdnorm.linalg.spectral import Spectrum, spectrum
from spdnorm.linalg.symmetric import solve_congruence, symmetrize
from spdnorm.linalg.tolerances import rank_tolerance


class _Lyapunov(Function):
    """P = L_X(S) in the eigenbasis of X, with the gradients of the paper's Eq. (Lydif2), which are L_X again."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, values: Tensor, vectors: Tensor, s: Tensor) -> Tensor:
        total = values.unsqueeze(-1) + values.unsqueeze(-2)
        # On the null space of a singular X the equation fixes nothing: 0 is the solution of least norm.
        null = total <= rank_tolerance(values).unsqueeze(-1)
        inverse = torch.where(null, torch.zeros_like(total), 1 / torch.where(null, torch.ones_like(total), total))
        return vectors @ (inverse * (vectors.mT @ s @ vectors)) @ vectors.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, values, vectors, _ = inputs
        ctx.save_for_backward(x, values, vectors, output)

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, values, vectors, solution = ctx.saved_tensors
        of_s = call(_Lyapunov, x, values, vectors, grad)
        of_x = None
        if ctx.needs_input_grad[0]:
            # -P Q - Q P; with P and Q symmetric the second term is the transpose of the first.
            of_x = -symmetrize(solution @ of_s.mT + of_s.mT @ solution)
        return of_x, None, None, of_s


@full_precision
def lyapunov(x: Tensor, s: Tensor, *, decomposition: Spectrum | None = None) -> Tensor:
    """Solve X P + P X = S.

    Parameters
    ----------
    x : Tensor, shape (..., n, n)
        Positive semi-definite. Where it is singular the solution of least norm is returned, which solves the
        equation wherever a solution exists.
    s : Tensor, shape (..., n, n)
        Symmetric.
    decomposition : Spectrum, optional
        ``spectrum(x)`` if it is known already.

    Returns
    -------
    Tensor, shape (..., n, n)

    Examples
    --------
    >>> from spdnorm.linalg import lyapunov
    >>> x = torch.diag(torch.tensor([1.0, 3.0]))
    >>> p = lyapunov(x, torch.ones(2, 2))
    >>> x @ p + p @ x
    tensor([[1., 1.],
            [1., 1.]])
    """
    check_square(x, "x")
    check_alike(x=x, s=s)
    d = spectrum(x) if decomposition is None else decomposition
    check_congruent(d.values, "x")
    return call(_Lyapunov, d.matrix, d.values, d.vectors, s)


@full_precision
def generalized_lyapunov(x: Tensor, m: Tensor, s: Tensor) -> Tensor:
    """Solve X P M + M P X = S for ``x`` positive semi-definite and ``m`` positive definite.

    With M = C C^T (Cholesky) the substitution P = C^-T Q C^-1 gives an ordinary Lyapunov equation for
    C^-1 X C^-T and C^-1 S C^-T, so that singular X is allowed as in :func:`lyapunov`.

    Examples
    --------
    >>> from spdnorm.linalg import generalized_lyapunov
    >>> x, m = torch.diag(torch.tensor([1.0, 3.0])), 2 * torch.eye(2)
    >>> p = generalized_lyapunov(x, m, torch.ones(2, 2))
    >>> torch.allclose(x @ p @ m + m @ p @ x, torch.ones(2, 2))
    True
    """
    check_square(x, "x")
    check_alike(x=x, m=m, s=s)
    c = cholesky(m, name="m")
    x_hat = solve_congruence(c, x)
    q = lyapunov(x_hat, solve_congruence(c, s))
    half = torch.linalg.solve_triangular(c.mT, q, upper=True)
    return symmetrize(torch.linalg.solve_triangular(c, half, upper=False, left=False))
