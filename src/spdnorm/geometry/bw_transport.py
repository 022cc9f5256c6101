"""Parallel transport of the Bures-Wasserstein metric.

Closed form for commuting points (paper, Tab. (opera)). In general (Thanwerdas and Pennec 2023), with factors
A(t) = (1 - t) A + t B along the geodesic S(t) = A(t) A(t)^T, a tangent vector is U = V A^T + A V^T with the horizontal
lift V (A^T V symmetric), whose Frobenius norm is its length. Transport keeps V horizontal and turns it within
the fibre only: V' = A W with W skew, P W + W P = V^T D - D^T V, P = A^T A, D = B - A. No inverse and no stiffness,
hence at home near the boundary too.

Time is stretched: an eigenvalue mu of the optimal map makes the coefficients vary as 1 / (1 - t + t mu), on the
scale mu near t = 1 or 1 / mu near t = 0. In w with t = (1 + tanh(w) / tanh(c)) / 2 all of them vary on the scale 1, and
the length 2 c of the interval grows with log mu only.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import (
    Spectrum,
    check_congruent,
    checks_active,
    congruence,
    lyapunov,
    rank_tolerance,
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
    of_x, of_y = ((vectors.mT @ m @ vectors).diagonal(dim1=-2, dim2=-1) for m in (x, y))
    check_congruent(of_x, "x")
    check_congruent(of_y, "y")
    of_x, of_y = (values.clamp_min(torch.finfo(x.dtype).tiny) for values in (of_x, of_y))
    ratio = (of_y[..., :, None] + of_y[..., None, :]) / (of_x[..., :, None] + of_x[..., None, :])
    return congruence(vectors, torch.sqrt(ratio) * (vectors.mT @ u @ vectors))


def _stretch(a: Tensor, b: Tensor) -> Tensor:
    """The constant c of the module's docstring, (..., 1, 1), from the spectrum of the optimal map B A^-1."""
    a, b = a.detach(), b.detach()
    x, y = a @ a.mT, b @ b.mT
    at = spectrum(x)
    kept = at.values > rank_tolerance(at.values)
    inverse = torch.where(kept, 1 / torch.where(kept, at.values, 1.0), 0.0)
    # A^-1 = A^T X^-1; on the null space of a singular A the map is not determined and counts as 0.
    optimal_map = symmetrize(b @ a.mT @ ((at.vectors * inverse.unsqueeze(-2)) @ at.vectors.mT))
    # Nothing happens on the null space that both ends share: there it counts as 1.
    both = spectrum(x / torch.linalg.matrix_norm(x, keepdim=True) + y / torch.linalg.matrix_norm(y, keepdim=True))
    idle = (both.values <= rank_tolerance(both.values)).to(a.dtype)
    optimal_map = optimal_map + (both.vectors * idle.unsqueeze(-2)) @ both.vectors.mT
    mu = spectrum(optimal_map).values.clamp_min(torch.finfo(a.dtype).eps)
    reach = torch.log(mu).abs().amax(-1)
    return (0.5 * reach).clamp(0.05, 18.0)[..., None, None]


def transport_along_geodesic(a: Tensor, b: Tensor, u: Tensor, steps: int) -> Tensor:
    """Transport of ``u`` by ``steps`` classical Runge-Kutta steps from A A^T to B B^T.

    Parameters
    ----------
    a, b : Tensor, shape (..., n, n)
        Aligned factors of the points: A^T B is symmetric positive semi-definite.
    u : Tensor, shape (..., n, n)
    steps : int

    Returns
    -------
    Tensor, shape (..., n, n)
    """
    c = _stretch(a, b)
    # All the points of the grid and its midpoints at once: one batched decomposition, whatever the steps.
    shape = (2 * steps + 1,) + (1,) * max(a.dim(), b.dim())
    grid = torch.linspace(-1, 1, 2 * steps + 1, dtype=a.dtype, device=a.device).reshape(shape)
    time = 0.5 * (1 + torch.tanh(c * grid) / torch.tanh(c))
    pace = 0.5 * c / (torch.tanh(c) * torch.cosh(c * grid).square())
    # Written from both ends, so that the last digits near t = 1 are those of B.
    late = 0.5 * (1 - torch.tanh(c * grid) / torch.tanh(c))
    factor = late * a + time * b
    gram = spectrum(symmetrize(factor.mT @ factor))
    velocity = pace * (b - a)

    def slope(v: Tensor, i: int) -> Tensor:
        at = Spectrum(gram.matrix[i], gram.values[i], gram.vectors[i])
        turn = v.mT @ velocity[i]
        return factor[i] @ lyapunov(at.matrix, turn - turn.mT, decomposition=at)

    v = lyapunov(a @ a.mT, u) @ a
    h = 2.0 / steps
    for step in range(steps):
        i = 2 * step
        k1 = slope(v, i)
        k2 = slope(v + 0.5 * h * k1, i + 1)
        k3 = slope(v + 0.5 * h * k2, i + 1)
        k4 = slope(v + h * k3, i + 2)
        v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return 2 * symmetrize(v @ b.mT)
