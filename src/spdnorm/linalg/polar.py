"""Products of factors by singular values: twice the digits that squaring them first would leave.

X^1/2 Y X^1/2 has up to the squared condition number of its factors, so that its small eigenvalues drown; the
singular values of W = X^1/2 Y^1/2 (whose Gram matrix it is) do not.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spdnorm.linalg import native
from spdnorm.linalg.autograd import call
from spdnorm.linalg.checks import check_square
from spdnorm.linalg.eigh import compiled
from spdnorm.linalg.lyapunov import lyapunov
from spdnorm.linalg.precision import full_precision
from spdnorm.linalg.spectral import Spectrum


class _SVD(Function):
    """Left vectors, singular values and right vectors as constants for autograd."""

    generate_vmap_rule = True

    @staticmethod
    def forward(w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if compiled(w) and native.worthwhile(w) and (found := native.svd(w)) is not None:
            return found
        left, sigma, right = torch.linalg.svd(w)
        return left, sigma, right.mT.contiguous()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> None:
        return None


class _Polar(Function):
    """O of W = O H; dO = O L_H(O^T dW - dW^T O), which is its own adjoint up to the outer O."""

    generate_vmap_rule = True

    @staticmethod
    def forward(w: Tensor, left: Tensor, sigma: Tensor, right: Tensor) -> Tensor:
        return left @ right.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        w, _, sigma, right = inputs
        ctx.save_for_backward(w, sigma, right, output)

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        w, sigma, right, o = ctx.saved_tensors
        stretch = Spectrum(o.mT @ w, sigma, right)
        skew = o.mT @ grad - grad.mT @ o
        return o @ lyapunov(stretch.matrix, skew, decomposition=stretch), None, None, None


def polar(w: Tensor) -> Tensor:
    """Orthogonal polar factor of square ``w`` (..., n, n), differentiable at equal singular values.

    It maximises tr(O^T W); where W is singular, one maximiser is returned, and its derivative is taken along
    matrices of the same rank.

    Examples
    --------
    >>> from spdnorm.linalg import polar
    >>> q = polar(torch.tensor([[0.0, -2.0], [3.0, 0.0]]))
    >>> torch.allclose(q, torch.tensor([[0.0, -1.0], [1.0, 0.0]]))
    True
    """
    check_square(w, "w")
    left, sigma, right = call(_SVD, w)
    return call(_Polar, w, left, sigma, right)


def gram_spectrum(w: Tensor) -> Spectrum:
    """The spectrum of W W^T, from the singular values of ``w`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import gram_spectrum
    >>> gram_spectrum(torch.diag(torch.tensor([2.0, 3.0]))).values
    tensor([9., 4.])
    """
    left, sigma, _ = call(_SVD, w)
    return Spectrum(w @ w.mT, sigma.square(), left)
