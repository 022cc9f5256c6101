"""Batch normalisation under the Bures-Wasserstein metric (paper, Eqs. (center), (data scaling), (bias); Alg. 1).

With T the optimal map from the barycentre B to a sample X, transported to the identity Log_B X becomes V with

    V / 2 = F_B(T) / sqrt(2) - B^1/2,    F_B(T) = sqrt(b_i + b_j) T_ij in the eigenbasis of B,

and |V / 2| (Frobenius) is d(B, X). Exp_I V = (I + V/2)^2, whose logarithm is 2 (|I + V/2| - I): where I + V/2 is not
positive definite the composition folds, where it is the two cancel and no eigendecomposition is owed. A
sample costs two: one in the barycentre's fixed-point step, one in Log_B.
"""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.functional.kernels.base import NormKernel
from spdnorm.geometry import Average, BuresWasserstein
from spdnorm.linalg import (
    ABS,
    PSEUDO_INV_SQRT,
    SQRT,
    Power,
    congruence,
    eye_like,
    spectrum,
    sum_operator,
    symmetrize,
)

_HALF, _MINUS_HALF = Power(0.5), Power(-0.5)


def fold(w: Tensor) -> Tensor:
    """|W| of symmetric ``w`` (..., n, n): Log_I . Exp_I, up to the shift by I.

    In eager mode on the CPU a batched Cholesky factorisation tells which matrices are positive definite and are
    left alone. Where a look at the data is not possible (tracing, vmap) or would make a GPU wait, all of them go
    through the eigendecomposition, with the same result.
    """
    if w.device.type != "cpu" or not checks_possible(w):
        return spectrum(w).apply(ABS)
    folded = torch.linalg.cholesky_ex(w.detach()).info != 0
    if not bool(folded.any()):
        return w
    flat, index = w.reshape(-1, *w.shape[-2:]), folded.reshape(-1).nonzero().squeeze(-1)
    return flat.index_copy(0, index, spectrum(flat[index]).apply(ABS)).reshape(w.shape)


def checks_possible(w: Tensor) -> bool:
    """Whether the data may decide the path taken: not while tracing or inside a functorch transform."""
    return not torch.compiler.is_compiling() and torch._C._functorch.maybe_current_level() is None


class BuresWassersteinKernel(NormKernel[Tensor]):
    """Deviations are V / 2 at the identity, symmetric (N, ..., n, n)."""

    def __init__(self, metric: BuresWasserstein | None = None) -> None:
        self.metric = metric or BuresWasserstein()

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:  # noqa: D102
        return self.metric._mean(y, average, iterations).mean

    def deviation(self, y: Tensor, mean: Tensor) -> Tensor:  # noqa: D102
        b = spectrum(mean)
        root, inverse_root = b.apply(SQRT), b.apply(PSEUDO_INV_SQRT)
        optimal_map = congruence(inverse_root, spectrum(congruence(root, y)).apply(SQRT))
        return sum_operator(b, _HALF, optimal_map) * 0.5**0.5 - root

    def squared_norm(self, deviation: Tensor) -> Tensor:  # noqa: D102
        return deviation.square().sum((-2, -1))

    def rebuild(self, deviation: Tensor, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        identity = eye_like(deviation)
        root = fold(identity + deviation)
        if factor is not None:
            root = fold(identity + factor * (root - identity))
        if bias is None:
            return root @ root.mT
        # Exp_G Z = (I + L_G Z) G (I + L_G Z), with L_G . PT_{I->G} again elementwise in the eigenbasis of G.
        g = spectrum(bias)
        step = identity + 2**0.5 * sum_operator(g, _MINUS_HALF, root - identity)
        half = step @ g.apply(SQRT)
        return half @ half.mT

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:
        """Paper, Eq. (mean_compute1), in the form (1 - t) I + t T about A."""
        at = spectrum(a)
        inverse_root = at.apply(PSEUDO_INV_SQRT)
        optimal_map = congruence(inverse_root, spectrum(congruence(at.apply(SQRT), b)).apply(SQRT))
        step = (1 - t) * eye_like(a) + t * optimal_map
        return symmetrize(step @ a @ step)
