"""Rectified eigenvalues (Huang and Van Gool 2017, Eq. (2))."""

from __future__ import annotations

from torch import Tensor

from spdnorm.linalg import Clamp, full_precision, matrix_function


@full_precision
def rectify_eigenvalues(x: Tensor, threshold: float = 1e-4) -> Tensor:
    """Raise the eigenvalues of symmetric ``x`` (..., n, n) to at least ``threshold``."""
    return matrix_function(x, Clamp(float(threshold)))
