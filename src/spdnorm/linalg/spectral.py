"""Functions of symmetric matrices from one eigendecomposition, differentiable to any order.

The k-th derivative of f(X) = U f(L) U^T is a sum over orderings of

    F_k(X; H_1, ..., H_k)_{ij} = sum f[l_i, l_p, ..., l_j] (H_1)_{ip} ... (H_k)_{.j}      (in the eigenbasis)

(Daleckii and Krein 1965; paper, Eqs. (svd) and (dif) for k = 1). The adjoint of F_k in each H is an F_k with its
arguments rotated, in X a sum of F_{k+1}: one short autograd function closes the family, so that every function
here can be differentiated again and again, at equal eigenvalues too, without a new eigendecomposition.
"""

from __future__ import annotations

import itertools
import string
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spdnorm.linalg.autograd import call
from spdnorm.linalg.checks import check_spectrum, check_square, check_symmetric
from spdnorm.linalg.divided_differences import divided_differences
from spdnorm.linalg.eigh import eigh
from spdnorm.linalg.functions import ABS, EXP, INV_SQRT, INVERSE, LOG, SQRT, Clamp, Power, SpectralFunction
from spdnorm.linalg.precision import full_precision
from spdnorm.linalg.symmetric import symmetrize
from spdnorm.linalg.tolerances import rank_tolerance


class _Decompose(Function):
    """eigh whose outputs are constants for autograd: derivatives go through :class:`_Contraction`."""

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        return eigh(x)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None], x: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        # One more leading axis of an ordinary tensor: backends split batches over threads, and read their memory.
        assert in_dims[0] is not None
        return call(_Decompose, x.movedim(in_dims[0], 0)), (0, 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> None:
        return None


class _Contraction(Function):
    """F_k(X; H_1..H_k) of the module's docstring; k = 0 is f(X) itself."""

    generate_vmap_rule = True

    @staticmethod
    def forward(f: SpectralFunction, x: Tensor, values: Tensor, vectors: Tensor, *directions: Tensor) -> Tensor:
        order = len(directions)
        differences = divided_differences(f, values, order)
        if order == 0:
            return (vectors * differences.unsqueeze(-2)) @ vectors.mT
        rotated = [vectors.mT @ h @ vectors for h in directions]
        if order == 1:
            inner = differences * rotated[0]
        else:
            index = string.ascii_lowercase[: order + 1]
            pairs = [f"...{a}{b}" for a, b in itertools.pairwise(index)]
            inner = torch.einsum(f"...{index},{','.join(pairs)}->...{index[0]}{index[-1]}", differences, *rotated)
        return vectors @ inner @ vectors.mT

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        f, x, values, vectors, *directions = inputs
        ctx.function = f
        ctx.save_for_backward(x, values, vectors, *directions)

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        f = ctx.function
        x, values, vectors, *h = ctx.saved_tensors
        order = len(h)
        of_x: Tensor | None = None
        of_h: list[Tensor | None] = [None] * order
        if ctx.needs_input_grad[1]:
            terms = [_contract(f, x, values, vectors, *h[m:], grad.mT, *h[:m]) for m in range(order + 1)]
            of_x = symmetrize(sum(terms[1:], terms[0]))
        for m in range(order):
            if ctx.needs_input_grad[4 + m]:
                of_h[m] = _contract(f, x, values, vectors, *h[m + 1 :], grad.mT, *h[:m]).mT
        return None, of_x, None, None, *of_h


def _contract(f: SpectralFunction, x: Tensor, values: Tensor, vectors: Tensor, *directions: Tensor) -> Tensor:
    return call(_Contraction, f, x, values, vectors, *directions)


@dataclass(frozen=True)
class Spectrum:
    """A symmetric matrix together with its eigendecomposition, to serve several functions of it.

    Attributes
    ----------
    matrix : Tensor, shape (..., n, n)
        The matrix, through which gradients flow.
    values, vectors : Tensor, shapes (..., n) and (..., n, n)
        Its eigendecomposition, constants for autograd.

    Examples
    --------
    >>> from spdnorm.linalg import INV_SQRT, SQRT, spectrum
    >>> s = spectrum(torch.diag(torch.tensor([4.0, 16.0])))
    >>> s.apply(SQRT) @ s.apply(INV_SQRT)  # two functions, one eigendecomposition
    tensor([[1., 0.],
            [0., 1.]])
    """

    matrix: Tensor
    values: Tensor
    vectors: Tensor

    def apply(self, function: SpectralFunction) -> Tensor:
        """``U f(L) U^T``, shape (..., n, n), differentiable to any order."""
        return _contract(function, self.matrix, self.values, self.vectors)

    def map(self, function: SpectralFunction) -> Spectrum:
        """The spectrum of f(X): the same eigenvectors, no new eigendecomposition."""
        return Spectrum(self.apply(function), function.value(self.values), self.vectors)

    def scaled(self, factor: Tensor) -> Spectrum:
        """The spectrum of ``factor * X`` for a tensor ``factor`` that broadcasts against (..., n, n)."""
        factor_of_values = factor.detach().squeeze(-1) if factor.dim() >= 2 else factor.detach()
        return Spectrum(self.matrix * factor, self.values * factor_of_values, self.vectors)

    def definite(self) -> Spectrum:
        """Eigenvalues raised to their rank tolerance: X is definite, and rounding may have made it look otherwise."""
        return Spectrum(self.matrix, torch.maximum(self.values, rank_tolerance(self.values)), self.vectors)

    def derivative(self, function: SpectralFunction, direction: Tensor) -> Tensor:
        """Frechet derivative Df(X)[H], shape (..., n, n)."""
        return _contract(function, self.matrix, self.values, self.vectors, direction)

    def power(self, exponent: float) -> Tensor:
        """``X^exponent``."""
        return self.apply(Power(float(exponent)))

    def check(self, function: SpectralFunction, name: str) -> None:
        """Raise where the function is not defined on this spectrum."""
        if function.needs_definite or function.needs_semidefinite:
            check_spectrum(self.values, name, definite=function.needs_definite)


@full_precision
def spectrum(x: Tensor) -> Spectrum:
    """Decompose symmetric ``x`` (..., n, n) once, for any number of functions of it.

    Examples
    --------
    >>> from spdnorm.linalg import spectrum
    >>> spectrum(torch.diag(torch.tensor([3.0, 1.0]))).values
    tensor([1., 3.])
    """
    values, vectors = call(_Decompose, x)
    return Spectrum(x, values, vectors)


@full_precision
def matrix_function(x: Tensor, function: SpectralFunction, *, name: str = "x") -> Tensor:
    """f(X) for symmetric ``x`` (..., n, n); raises where f is undefined on the spectrum.

    Examples
    --------
    >>> from spdnorm.linalg import LOG, matrix_function
    >>> matrix_function(torch.eye(2), LOG)
    tensor([[0., 0.],
            [0., 0.]])
    """
    check_symmetric(x, name)
    decomposed = spectrum(x)
    decomposed.check(function, name)
    return decomposed.apply(function)


@full_precision
def derivative(x: Tensor, function: SpectralFunction, direction: Tensor) -> Tensor:
    """Frechet derivative Df(X)[H] (paper, Eq. (svd)); differentiable again in both arguments.

    Examples
    --------
    >>> from spdnorm.linalg import SQRT, derivative
    >>> derivative(4 * torch.eye(2), SQRT, torch.eye(2))  # equal eigenvalues are no special case
    tensor([[0.2500, 0.0000],
            [0.0000, 0.2500]])
    """
    return spectrum(x).derivative(function, direction)


def logm(x: Tensor) -> Tensor:
    """Logarithm of SPD ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import logm
    >>> logm(torch.eye(2))
    tensor([[0., 0.],
            [0., 0.]])
    """
    return matrix_function(x, LOG)


def expm(x: Tensor) -> Tensor:
    """Exponential of symmetric ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import expm
    >>> expm(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return matrix_function(x, EXP)


def sqrtm(x: Tensor) -> Tensor:
    """Square root of positive semi-definite ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import sqrtm
    >>> sqrtm(torch.diag(torch.tensor([0.0, 9.0])))  # singular is allowed
    tensor([[0., 0.],
            [0., 3.]])
    """
    return matrix_function(x, SQRT)


def inv_sqrtm(x: Tensor) -> Tensor:
    """Inverse square root of SPD ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import inv_sqrtm
    >>> inv_sqrtm(torch.diag(torch.tensor([4.0, 16.0])))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return matrix_function(x, INV_SQRT)


def invm(x: Tensor) -> Tensor:
    """Inverse of SPD ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import invm
    >>> invm(torch.diag(torch.tensor([2.0, 4.0])))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return matrix_function(x, INVERSE)


def powm(x: Tensor, exponent: float) -> Tensor:
    """Real power of positive (semi-)definite ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import powm
    >>> powm(torch.diag(torch.tensor([1.0, 16.0])), 0.25)
    tensor([[1., 0.],
            [0., 2.]])
    """
    return matrix_function(x, Power(float(exponent)))


def absm(x: Tensor) -> Tensor:
    """|X| of symmetric ``x`` (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import absm
    >>> absm(torch.diag(torch.tensor([-2.0, 3.0])))
    tensor([[2., 0.],
            [0., 3.]])
    """
    return matrix_function(x, ABS)


def clampm(x: Tensor, minimum: float) -> Tensor:
    """Eigenvalues of symmetric ``x`` (..., n, n) raised to at least ``minimum``.

    Examples
    --------
    >>> from spdnorm.linalg import clampm
    >>> clampm(torch.diag(torch.tensor([-1.0, 2.0])), 0.5)
    tensor([[0.5000, 0.0000],
            [0.0000, 2.0000]])
    """
    return matrix_function(x, Clamp(float(minimum)))


def sqrt_and_inverse(x: Tensor) -> tuple[Tensor, Tensor]:
    """(X^1/2, X^-1/2) of SPD ``x`` from one eigendecomposition.

    Examples
    --------
    >>> from spdnorm.linalg import sqrt_and_inverse
    >>> root, inverse_root = sqrt_and_inverse(4 * torch.eye(2))
    >>> root[0, 0].item(), inverse_root[0, 0].item()
    (2.0, 0.5)
    """
    check_square(x, "x")
    decomposed = spectrum(x)
    return decomposed.apply(SQRT), decomposed.apply(INV_SQRT)
