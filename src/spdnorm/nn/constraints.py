"""Keeping parameters positive definite.

By default through torch parametrizations, with which any torch optimiser works; on request as geoopt manifold
parameters for Riemannian optimisers.
"""

from __future__ import annotations

import math
from typing import Any

import geoopt
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from spdnorm.linalg import (
    EXP,
    EXP_HALF,
    EXP_MINUS_HALF,
    INV_SQRT,
    LOG,
    SQRT,
    Spectrum,
    check_symmetric,
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
        return logarithm(s).apply(EXP)

    def right_inverse(self, x: Tensor) -> Tensor:
        """The logarithm, for assignment: ``layer.bias = some_spd_matrix``."""
        check_symmetric(x, "value")
        return matrix_function(symmetrize(x), LOG)


@full_precision
def logarithm(s: Tensor) -> Spectrum:
    """The spectrum of log X for a parameter S (..., n, n), eigenvalues at least log(10 n eps) below the largest.

    Derivatives are those of exp at the raised eigenvalues, so that they can come back.
    """
    found = spectrum(symmetrize(s))
    reach = math.log(10 * max(s.shape[-1], 1) * torch.finfo(s.dtype).eps)
    floor = found.values.amax(-1, keepdim=True) + reach
    return Spectrum(found.matrix, torch.maximum(found.values, floor), found.vectors)


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


@full_precision
def spd_roots(module: nn.Module, name: str) -> tuple[Tensor, Tensor]:
    """X^1/2 and X^-1/2 of an SPD parameter: of exp(S) from S itself, without a look at exp(S)."""
    if parametrize.is_parametrized(module, name):
        chain: Any = module.parametrizations[name]  # type: ignore[index]
        if len(chain) == 1 and isinstance(chain[0], SPDExponential):
            s = logarithm(chain.original)
            return s.apply(EXP_HALF), s.apply(EXP_MINUS_HALF)
    x = spectrum(getattr(module, name))
    x.check(INV_SQRT, name)
    return x.apply(SQRT), x.apply(INV_SQRT)


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
