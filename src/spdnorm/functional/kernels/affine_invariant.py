"""Batch normalisation under the affine-invariant metric: whitening, a power, colouring.

``translation="eigen"`` whitens by B^-1/2 (Brooks et al. 2019; Kobler et al. 2022), ``"cholesky"`` by the inverse
Cholesky factor (LieBN, Chen et al. 2024); the results differ by rotations.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from spdnorm.functional.kernels.base import NormKernel
from spdnorm.geometry import AffineInvariant, Average
from spdnorm.geometry.affine_invariant import weigh
from spdnorm.linalg import (
    EXP,
    LOG,
    Spectrum,
    cholesky,
    congruence,
    inv_sqrtm,
    solve_congruence,
    spectrum,
    sqrt_and_inverse,
    sqrtm,
)


class Whitened:
    """Whitened samples; the logarithm is taken only if it is asked for, and once."""

    def __init__(self, matrix: Tensor) -> None:
        self.matrix = matrix
        self._logarithm: Spectrum | None = None

    @property
    def logarithm(self) -> Spectrum:
        """Spectrum of log Z."""
        # Not functools.cached_property, whose lock torch.compile cannot trace.
        if self._logarithm is None:
            decomposed = spectrum(self.matrix)
            decomposed.check(LOG, "x")
            self._logarithm = decomposed.map(LOG)
        return self._logarithm


class AffineInvariantKernel(NormKernel[Whitened]):
    """Whitening and colouring about the AIM barycentre."""

    def __init__(
        self, metric: AffineInvariant | None = None, *, translation: Literal["eigen", "cholesky"] = "eigen"
    ) -> None:
        self.metric = metric or AffineInvariant()
        self.translation = translation

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:  # noqa: D102
        return self.metric._mean(y, average, iterations).mean

    def deviation(self, y: Tensor, mean: Tensor) -> Whitened:  # noqa: D102
        if self.translation == "eigen":
            return Whitened(congruence(inv_sqrtm(mean), y))
        return Whitened(solve_congruence(cholesky(mean), y))

    def squared_norm(self, deviation: Whitened) -> Tensor:  # noqa: D102
        logarithm = deviation.logarithm.matrix
        # At the identity, where the whitened samples are.
        return weigh(self.metric.alpha, self.metric.beta, logarithm, logarithm)

    def rebuild(self, deviation: Whitened, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        z = deviation.matrix if factor is None else deviation.logarithm.scaled(factor).apply(EXP)
        if bias is None:
            return z
        return congruence(sqrtm(bias) if self.translation == "eigen" else cholesky(bias, name="bias"), z)

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:  # noqa: D102
        root, inverse_root = sqrt_and_inverse(a)
        return congruence(root, spectrum(congruence(inverse_root, b)).map(LOG).scaled(torch.as_tensor(t)).apply(EXP))
