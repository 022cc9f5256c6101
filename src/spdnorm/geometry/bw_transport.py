"""Parallel transport of the Bures-Wasserstein metric.

Closed form for commuting points (paper, Tab. (opera)). In general (Thanwerdas and Pennec 2023), with the
horizontal lift U = K S + S K along the geodesic S(t) = R(t) X R(t), R(t) = (1 - t) I + t T, T the optimal map:
the transported field solves K' = -L_S(K H S + S H K), H = (T - I) R(t)^-1.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import (
    INV_SQRT,
    SQRT,
    Spectrum,
    checks_active,
    congruence,
    eye_like,
    lyapunov,
    spectrum,
    symmetrize,
)


def commute(x: Tensor, y: Tensor) -> bool:
    """Whether all pairs commute up to rounding; False where the data may not be looked at (tracing, vmap)."""
    if not (checks_active(x) or (x.is_cuda and not torch.compiler.is_compiling())):
        return False
    product = x.detach() @ y.detach()
    gap = (product - product.mT).abs().amax((-2, -1))
    return bool((gap <= 1e3 * torch.finfo(x.dtype).eps * product.abs().amax((-2, -1))).all())


def transport_commuting(x: Tensor, y: Tensor, u: Tensor) -> Tensor:
    """U[ij] sqrt((d_i + d_j) / (l_i + l_j)) in the common eigenbasis of X (values l) and Y (values d)."""
    # A generic combination separates eigenvalues that coincide in one of the two.
    mixed = x / torch.linalg.matrix_norm(x, keepdim=True) + 0.577 * y / torch.linalg.matrix_norm(y, keepdim=True)
    vectors = spectrum(mixed).vectors
    of_x, of_y = (
        (vectors.mT @ m @ vectors).diagonal(dim1=-2, dim2=-1).clamp_min(torch.finfo(x.dtype).tiny) for m in (x, y)
    )
    ratio = (of_y[..., :, None] + of_y[..., None, :]) / (of_x[..., :, None] + of_x[..., None, :])
    return congruence(vectors, torch.sqrt(ratio) * (vectors.mT @ u @ vectors))


def transport_along_geodesic(x: Tensor, y: Tensor, u: Tensor, steps: int) -> Tensor:
    """Transport by ``steps`` classical Runge-Kutta steps; isometric up to the integration error."""
    decomposed = spectrum(x)
    root, inverse_root = decomposed.apply(SQRT), decomposed.apply(INV_SQRT)
    optimal_map = congruence(inverse_root, spectrum(congruence(root, y)).apply(SQRT))
    identity = eye_like(x)
    direction = optimal_map - identity
    # All the points of the grid and its midpoints at once: two batched decompositions, whatever the steps.
    shape = (2 * steps + 1,) + (1,) * direction.dim()
    time = torch.linspace(0, 1, 2 * steps + 1, dtype=x.dtype, device=x.device).reshape(shape)
    stretch = identity + time * direction
    point = spectrum(congruence(stretch, x))
    rate = torch.linalg.solve(stretch, direction)
    product = rate @ point.matrix

    def slope(k: Tensor, i: int) -> Tensor:
        at = Spectrum(point.matrix[i], point.values[i], point.vectors[i])
        return -lyapunov(at.matrix, 2 * symmetrize(k @ product[i]), decomposition=at)

    k = lyapunov(x, u, decomposition=decomposed)
    h = 1.0 / steps
    for step in range(steps):
        i = 2 * step
        k1 = slope(k, i)
        k2 = slope(k + 0.5 * h * k1, i + 1)
        k3 = slope(k + 0.5 * h * k2, i + 1)
        k4 = slope(k + h * k3, i + 2)
        k = k + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return 2 * symmetrize(k @ point.matrix[-1])
