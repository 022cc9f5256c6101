"""The three steps of Bures-Wasserstein normalisation that touch every sample, as plain compositions.

They can be differentiated again and again, traced and vmapped. :mod:`spdnorm.functional.kernels.bw_fused` computes the
same with fewer products; these are its definition, its second derivative and its test.
"""

from __future__ import annotations

from torch import Tensor

from spdnorm.linalg import (
    PSEUDO_INV_SQRT,
    SQRT,
    Power,
    congruence,
    eye_like,
    spectrum,
    sum_operator,
)

_HALF, _MINUS_HALF = Power(0.5), Power(-0.5)


def root_of_congruence(x: Tensor, p: Tensor) -> Tensor:
    """(P X P^T)^1/2 for samples ``x`` (N, ..., n, n) and shared ``p`` (..., n, n)."""
    return spectrum(congruence(p, x)).apply(SQRT)


def deviation(x: Tensor, mean: Tensor, k: Tensor) -> Tensor:
    """V / 2 of the samples K X K^T, where V is Log_B transported from B = ``mean`` to the identity.

    V / 2 = F_B(T) / sqrt(2) - B^1/2 with the optimal map T = B^-1/2 (B^1/2 K X K^T B^1/2)^1/2 B^-1/2 and
    F_B(T) = sqrt(b_i + b_j) T_ij in the eigenbasis of B.
    """
    b = spectrum(mean)
    root, inverse_root = b.apply(SQRT), b.apply(PSEUDO_INV_SQRT)
    optimal_map = congruence(inverse_root, root_of_congruence(x, root @ k))
    return 0.5**0.5 * sum_operator(b, _HALF, optimal_map) - root


def biased(e: Tensor, bias: Tensor, k: Tensor) -> Tensor:
    """K Exp_G(PT_{I->G}(2 E)) K^T = Z Z^T with Z = K (I + L) G^1/2 and L = sqrt(2) E_ij / sqrt(g_i + g_j)."""
    g = spectrum(bias)
    half = k @ (eye_like(e) + 2**0.5 * sum_operator(g, _MINUS_HALF, e)) @ g.apply(SQRT)
    return half @ half.mT
