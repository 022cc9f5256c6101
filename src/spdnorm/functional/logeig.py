"""The logarithm that leads out of the manifold (Huang and Van Gool 2017, Eq. (3)), with or without rectification."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from spdnorm.linalg import LOG, SpectralFunction, full_precision, matrix_function, vec

VECTORISATIONS = ("half", "full", "none")


@dataclass(frozen=True)
class ClampedLog(SpectralFunction):
    """log(max(x, minimum)): rectification and logarithm from one eigendecomposition."""

    minimum: float

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        return torch.log(x.clamp_min(self.minimum))

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        if order == 0:
            return self.value(x)
        return torch.where(x > self.minimum, LOG.taylor(x.clamp_min(self.minimum), order), torch.zeros_like(x))

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        high, low = torch.maximum(a, b), torch.minimum(a, b)
        within = LOG.first(a.clamp_min(self.minimum), b.clamp_min(self.minimum), floor)
        # One argument is clamped: the value stops at log(minimum), the gap goes on; both: no slope at all.
        gap = torch.where(high > low, high - low, torch.ones_like(high))
        rise = torch.log1p((high - self.minimum).clamp_min(0) / self.minimum)
        return torch.where(low > self.minimum, within, torch.where(high > self.minimum, rise / gap, 0.0))


def check_vectorisation(vectorize: str) -> None:
    """Raise unless ``vectorize`` names a way to lay out a symmetric matrix."""
    if vectorize not in VECTORISATIONS:
        raise ValueError(f"`vectorize` must be one of {', '.join(VECTORISATIONS)}, got {vectorize!r}")


@full_precision
def log_eigenvalues(x: Tensor, *, threshold: float | None = None, vectorize: str = "half") -> Tensor:
    """log X as a matrix or a vector.

    Parameters
    ----------
    x : Tensor, shape (..., n, n)
        SPD; with a ``threshold`` any symmetric matrix.
    threshold : float, optional
        Raise the eigenvalues to at least this first, which is ReEig at no further cost.
    vectorize : "half", "full" or "none"
        Half-vectorisation with the off-diagonal entries times sqrt(2), which keeps the norm, shape
        (..., n (n + 1) / 2); all entries, shape (..., n * n); or the matrix itself.

    Examples
    --------
    >>> from spdnorm.functional import log_eigenvalues
    >>> log_eigenvalues(torch.eye(3).expand(2, 3, 3)).shape  # n (n + 1) / 2 numbers a matrix
    torch.Size([2, 6])
    """
    check_vectorisation(vectorize)
    logarithm = matrix_function(x, LOG if threshold is None else ClampedLog(float(threshold)))
    if vectorize == "half":
        return vec(logarithm)
    return logarithm.flatten(-2) if vectorize == "full" else logarithm
