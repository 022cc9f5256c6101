"""Batch normalisation under the (generalised) Bures-Wasserstein metric (paper, Eqs. (center) to (bias); Alg. 1).

With T the optimal map from the barycentre B to a sample X, transported to the identity Log_B X becomes V with

    V / 2 = F_B(T) / sqrt(2) - B^1/2,    F_B(T) = sqrt(b_i + b_j) T_ij in the eigenbasis of B,

and |V / 2| (Frobenius) is d(B, X). Exp_I V = (I + V/2)^2, whose logarithm is 2 (|I + V/2| - I): where I + V/2 is not
positive definite the composition folds, where it is the two cancel and no eigendecomposition is owed. A
sample costs two: one in the barycentre's fixed-point step, one in Log_B.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from spdnorm.functional.kernels import bw_fused, bw_steps, native
from spdnorm.functional.kernels.base import Normalized, NormKernel
from spdnorm.geometry import Average, BuresWasserstein, plain_average
from spdnorm.linalg import Spectrum, compiled, congruence, eager, eye_like, spectrum


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
        self.outward: Tensor | None
        self.inward: Tensor | None
        self.outward, self.inward = roots or (None, None)

    def _inward(self, like: Tensor) -> Tensor:
        return eye_like(like) if self.inward is None else self.inward

    def anchor(self, bias: Tensor) -> Tensor:  # noqa: D102
        return bias if self.inward is None else congruence(self.inward, bias)

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:
        """The fixed point of the paper's Eq. (mean_compute2), from the arithmetic mean."""
        if iterations is None:
            return self.metric._mean(y if self.inward is None else congruence(self.inward, y), average, None).mean
        return bw_steps.barycentre(y, self._inward(y), average, iterations)

    def deviation(self, y: Tensor, mean: Tensor) -> Tensor:  # noqa: D102
        return bw_steps.deviation(y, mean, self._inward(mean))

    def squared_norm(self, deviation: Tensor) -> Tensor:  # noqa: D102
        return deviation.square().sum((-2, -1))

    def rebuild(self, deviation: Tensor, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        return bw_steps.rebuild(deviation, factor, bias, self.outward)

    def normalize(
        self,
        y: Tensor,
        *,
        mean: Tensor | None,
        variance: Tensor | None,
        bias: Tensor | None,
        scale: Tensor | None,
        eps: float,
        iterations: int | None,
        stats_grad: bool,
        weight: float | Tensor,
        on_mean: Callable[[Spectrum], None] | None = None,
    ) -> Normalized | None:
        """All the steps as one autograd function, where nothing is traced and theta is a number."""
        if not eager() or isinstance(weight, Tensor):
            return None
        if mean is None and iterations != 1:
            with torch.set_grad_enabled(stats_grad and torch.is_grad_enabled()):
                mean = self.mean(y, plain_average, iterations)
        arguments = bw_fused.Arguments(eps=eps, stats_grad=stats_grad, weight=weight, on_mean=on_mean)
        out, mean, variance, values, basis = bw_fused.normalise(
            arguments, y, self.inward, self.outward, bias, scale, mean, variance
        )
        return Normalized(out, mean, variance, Spectrum(mean, values, basis))

    def towards(self, a: Tensor, b: Spectrum, t: Tensor) -> Tensor:  # noqa: D102
        usable = a.dim() == 2 and a.dtype == b.values.dtype and compiled(a)
        if usable and (found := native.towards(a, b.values, b.vectors, float(t))) is not None:
            return found
        return _between(_factor(spectrum(a)), _factor(b), t)

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:
        """Paper, Eq. (mean_compute1)."""
        return self.towards(a, spectrum(b), t)


def _factor(of: Spectrum) -> Tensor:
    """F with F F^T the decomposed positive semi-definite matrix."""
    return of.vectors * of.values.clamp_min(0).sqrt().unsqueeze(-2)


def _between(f: Tensor, r: Tensor, t: Tensor) -> Tensor:
    """The point at ``t`` of the geodesic from F F^T to R R^T: W W^T with W = (1 - t) F + t R O.

    O is the orthogonal factor of R^T F = O H, from the eigenvectors (u, v) / sqrt(2) of [[0, R^T F], [F^T R, 0]] to its
    positive eigenvalues: O = sum u v^T. The optimal map itself asks for an inverse root of R^T F F^T R, which has the
    squared condition number: beyond 1 / sqrt(n eps) the least direction drowned, and a running mean lost it for good.
    """
    k = r.mT @ f
    n, zero = k.shape[-1], torch.zeros_like(k)
    paired = torch.cat([torch.cat([zero, k], -1), torch.cat([k.mT, zero], -1)], -2)
    upper, lower = spectrum(paired).vectors[..., n:].chunk(2, dim=-2)
    w = (1 - t) * f + (2 * t) * (r @ upper @ lower.mT)
    return w @ w.mT
