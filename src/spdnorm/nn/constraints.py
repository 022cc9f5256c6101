"""Keeping parameters positive definite.

By default through torch parametrizations, with which any torch optimiser works; on request as geoopt manifold
parameters for Riemannian optimisers.
"""

from __future__ import annotations

from typing import Any

import geoopt
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from spdnorm.linalg import (
    INV_SQRT,
    LOG,
    SQRT,
    check_symmetric,
    exponentials,
    full_precision,
    matrix_function,
    spectrum,
    symmetrize,
)
from spdnorm.nn.pickling import make_picklable


class SPDExponential(nn.Module):
    """X = exp(S) with S symmetric: every real matrix parametrises an SPD one, the zero matrix the identity.

    The update of S is isotropic about the identity, and no step leaves the cone, however long: eigenvalues of S that
    lie further below the largest than rounding lets exp(S) show are raised to where it does.
    """

    @full_precision
    def forward(self, s: Tensor) -> Tensor:
        """(..., n, n) -> SPD (..., n, n)."""
        check_symmetric(symmetrize(s), "x")
        (x,) = exponentials([s], [(0, 1.0)])
        return x

    def right_inverse(self, x: Tensor) -> Tensor:
        """The logarithm, for assignment: ``layer.bias = some_spd_matrix``."""
        check_symmetric(x, "value")
        return matrix_function(symmetrize(x), LOG)


class SignedExponential(nn.Module):
    """theta = sign exp(r): a number that no step takes to 0 or beyond. The sign is state, set by assignment."""

    sign: Tensor

    def __init__(self, like: Tensor) -> None:
        super().__init__()
        self.register_buffer("sign", torch.ones_like(like, requires_grad=False))

    def forward(self, r: Tensor) -> Tensor:
        """() -> ()."""
        return self.sign * torch.exp(r)

    def right_inverse(self, value: Tensor) -> Tensor:
        """The logarithm of the size, for assignment."""
        with torch.no_grad():
            self.sign.copy_(torch.where(value < 0, -1.0, 1.0))
        return torch.log(value.abs())


def register_nonzero(module: nn.Module, name: str, initial: Tensor) -> None:
    """Add a parameter () to ``module`` that stays on its side of 0."""
    setattr(module, name, nn.Parameter(initial))
    parametrize.register_parametrization(module, name, SignedExponential(initial))
    make_picklable(module)


def register_spd(
    module: nn.Module,
    name: str,
    initial: Tensor,
    *,
    parametrized: bool = True,
    manifold: geoopt.Manifold | None = None,
) -> None:
    """Add an SPD parameter to ``module``.

    Parameters
    ----------
    module : Module
    name : str
    initial : Tensor, shape (..., n, n)
    parametrized : bool
        As exp of a free symmetric matrix (any optimiser), or else as a geoopt ``ManifoldParameter``.
    manifold : geoopt.Manifold, optional
        For ``parametrized=False``; the affine-invariant ``geoopt.SymmetricPositiveDefinite()`` by default.
    """
    if parametrized:
        setattr(module, name, nn.Parameter(initial))
        parametrize.register_parametrization(module, name, SPDExponential())
        make_picklable(module)
        return
    manifold = manifold or geoopt.SymmetricPositiveDefinite()
    setattr(module, name, geoopt.ManifoldParameter(initial, manifold=manifold))


def _free(module: nn.Module, name: str) -> Tensor | None:
    """S of a parameter exp(S), None where it is constrained otherwise."""
    if parametrize.is_parametrized(module, name):
        chain: Any = module.parametrizations[name]  # type: ignore[index]
        if len(chain) == 1 and isinstance(chain[0], SPDExponential):
            return chain.original
    return None


@full_precision
def spd_roots(module: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """X^1/2 and X^-1/2 of an SPD parameter: of exp(S) from S itself, without a look at exp(S)."""
    free = _free(module, name)
    if free is not None:
        root, inverse_root = exponentials([free], [(0, 0.5), (0, -0.5)])
        return root, inverse_root
    x = spectrum(getattr(module, name))
    x.check(INV_SQRT, name)
    return x.apply(SQRT), x.apply(INV_SQRT)


@full_precision
def spd_roots_and_value(module: nn.Module, of_roots: str, of_value: str) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """The roots of one SPD parameter and another one itself, of one eigendecomposition where both are exponentials."""
    first, second = _free(module, of_roots), _free(module, of_value)
    if first is None or second is None:
        return spd_roots(module, of_roots), getattr(module, of_value)
    root, inverse_root, value = exponentials([first, second], [(0, 0.5), (0, -0.5), (1, 1.0)])
    return (root, inverse_root), value


def unconstrained(module: nn.Module, name: str) -> Tensor:
    """The free tensor behind a constrained parameter, or the plain parameter, whatever its values."""
    if parametrize.is_parametrized(module, name):
        return module.parametrizations[name].original  # type: ignore[index,union-attr]
    return getattr(module, name)


@torch.no_grad()
def assign(module: nn.Module, name: str, value: Tensor) -> None:
    """Set a constrained or plain parameter to ``value`` without replacing it."""
    if parametrize.is_parametrized(module, name):
        setattr(module, name, value)
    else:
        getattr(module, name).copy_(value)
