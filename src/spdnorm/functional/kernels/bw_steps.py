"""The steps of Bures-Wasserstein normalisation as plain compositions.

They can be differentiated again and again, traced and vmapped. :mod:`spdnorm.functional.kernels.bw_fused` computes the
same with fewer products; these are its definition, its second derivative and its test.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.geometry import Average, plain_average
from spdnorm.linalg import (
    ABS,
    PSEUDO_INV_SQRT,
    SQRT,
    Power,
    check_congruent,
    congruence,
    eager,
    eye_like,
    safe_rsqrt,
    spectrum,
    sum_operator,
)

_HALF, _MINUS_HALF = Power(0.5), Power(-0.5)


def fold(w: Tensor) -> Tensor:
    """|W| of symmetric ``w`` (..., n, n): Log_I . Exp_I, up to the shift by I.

    In eager mode on the CPU a batched Cholesky factorisation tells which matrices are positive definite and are
    left alone. Where a look at the data is not possible (tracing, vmap) or would make a GPU wait, all of them go
    through the eigendecomposition, with the same result.
    """
    if w.device.type != "cpu" or not eager():
        return spectrum(w).apply(ABS)
    folded = torch.linalg.cholesky_ex(w.detach()).info != 0
    if not bool(folded.any()):
        return w
    flat, index = w.reshape(-1, *w.shape[-2:]), folded.reshape(-1).nonzero().squeeze(-1)
    return flat.index_copy(0, index, spectrum(flat[index]).apply(ABS)).reshape(w.shape)


def scaled_root(deviation: Tensor, factor: Tensor | None) -> Tensor:
    """W with W^2 = Exp_I(factor Log_I(Exp_I(2 E))) for deviations E at the identity; W itself is not folded."""
    identity = eye_like(deviation)
    root = identity + deviation
    return root if factor is None else identity + factor * (fold(root) - identity)


def root_of_congruence(x: Tensor, p: Tensor) -> Tensor:
    """(P X P^T)^1/2 for samples ``x`` (N, ..., n, n) and shared ``p`` (..., n, n)."""
    decomposed = spectrum(congruence(p, x))
    check_congruent(decomposed.values, "x")
    return decomposed.apply(SQRT)


def barycentre(x: Tensor, k: Tensor, average: Average, iterations: int) -> Tensor:
    """Steps of the fixed point of the paper's Eq. (mean_compute2) for K X K, from the arithmetic mean."""
    mean = congruence(k, average(x))
    for _ in range(iterations):
        decomposed = spectrum(mean)
        pulled = average(root_of_congruence(x, decomposed.apply(SQRT) @ k))
        mean = congruence(decomposed.apply(PSEUDO_INV_SQRT), pulled @ pulled)
    return mean


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
    # Where M is ill conditioned, rounding in M^-1/2 G^theta M^-1/2 is no eigenvalue below zero.
    g = spectrum(bias).definite()
    half = k @ (eye_like(e) + 2**0.5 * sum_operator(g, _MINUS_HALF, e)) @ g.apply(SQRT)
    return half @ half.mT


def rebuild(deviation: Tensor, factor: Tensor | None, bias: Tensor | None, outward: Tensor | None) -> Tensor:
    """Deviations at the identity -> samples, scaled by ``factor`` (..., 1, 1), about ``bias``, moved by M^1/2."""
    root = scaled_root(deviation, factor)
    if bias is not None:
        return biased(fold(root) - eye_like(root), bias, eye_like(root) if outward is None else outward)
    # Squared at once, a root needs no fold.
    half = root if outward is None else outward @ root
    return half @ half.mT


def normalise(
    x: Tensor,
    k: Tensor | None,
    outward: Tensor | None,
    bias: Tensor | None,
    scale: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    *,
    eps: float,
    stats_grad: bool,
    weight: float,
) -> Tensor:
    """The steps in a row, as :func:`spdnorm.functional.kernels.bw_fused.normalise` computes them at once."""
    k = eye_like(x) if k is None else k
    if mean is None:
        mean = barycentre(x, k, plain_average, 1)
        mean = mean if stats_grad else mean.detach()
    deviations = deviation(x, mean, k)
    if variance is None:
        squared = deviations.square().sum((-2, -1)).mean(0)
        variance = weight * (squared if stats_grad else squared.detach())
    factor = safe_rsqrt(variance + eps)
    factor = factor if scale is None else scale * factor
    return rebuild(deviations, factor[..., None, None], bias, outward)
