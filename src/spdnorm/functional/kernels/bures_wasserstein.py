"""Batch normalisation under the (generalised) Bures-Wasserstein metric (paper, Eqs. (center) to (bias); Alg. 1).

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
from spdnorm.functional.kernels.bw_fused import biased, deviation, root_of_congruence, usable
from spdnorm.geometry import Average, BuresWasserstein
from spdnorm.linalg import ABS, PSEUDO_INV_SQRT, SQRT, congruence, eye_like, spectrum


def fold(w: Tensor) -> Tensor:
    """|W| of symmetric ``w`` (..., n, n): Log_I . Exp_I, up to the shift by I.

    In eager mode on the CPU a batched Cholesky factorisation tells which matrices are positive definite and are
    left alone. Where a look at the data is not possible (tracing, vmap) or would make a GPU wait, all of them go
    through the eigendecomposition, with the same result.
    """
    if w.device.type != "cpu" or not usable(w):
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


class BuresWassersteinKernel(NormKernel[Tensor]):
    """Deviations are V / 2 at the identity, symmetric (N, ..., n, n).

    Parameters
    ----------
    metric : BuresWasserstein, optional
    roots : pair of Tensors, optional
        M^1/2 and M^-1/2 of the generalised metric (n, n) or (C, n, n). Samples are never moved to M^-1/2 X M^-1/2 by
        themselves: the root enters the products that are due anyway. Means live in that space all the same.
    """

    def __init__(self, metric: BuresWasserstein | None = None, *, roots: tuple[Tensor, Tensor] | None = None) -> None:
        self.metric = metric or BuresWasserstein()
        self.roots = roots

    def _inverse(self, like: Tensor) -> Tensor:
        return eye_like(like) if self.roots is None else self.roots[1]

    def anchor(self, bias: Tensor) -> Tensor:  # noqa: D102
        return bias if self.roots is None else congruence(self.roots[1], bias)

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:
        """The fixed point of the paper's Eq. (mean_compute2), from the arithmetic mean."""
        k = self._inverse(y)
        if iterations is None:
            return self.metric._mean(y if self.roots is None else congruence(k, y), average, None).mean
        mean = average(y) if self.roots is None else congruence(k, average(y))
        for _ in range(iterations):
            decomposed = spectrum(mean)
            pulled = average(root_of_congruence(y, decomposed.apply(SQRT) @ k))
            mean = congruence(decomposed.apply(PSEUDO_INV_SQRT), pulled @ pulled)
        return mean

    def deviation(self, y: Tensor, mean: Tensor) -> Tensor:  # noqa: D102
        return deviation(y, mean, self._inverse(mean))

    def squared_norm(self, deviation: Tensor) -> Tensor:  # noqa: D102
        return deviation.square().sum((-2, -1))

    def rebuild(self, deviation: Tensor, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        root = scaled_root(deviation, factor)
        outward = eye_like(root) if self.roots is None else self.roots[0]
        if bias is not None:
            return biased(fold(root) - eye_like(root), bias, outward)
        # Squared at once, a root needs no fold.
        half = root if self.roots is None else outward @ root
        return half @ half.mT

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:
        """Paper, Eq. (mean_compute1), in the form (1 - t) I + t T about A."""
        at = spectrum(a)
        optimal_map = congruence(at.apply(PSEUDO_INV_SQRT), spectrum(congruence(at.apply(SQRT), b)).apply(SQRT))
        return congruence((1 - t) * eye_like(a) + t * optimal_map, a)
