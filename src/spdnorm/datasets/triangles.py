"""Symmetric matrices and their upper triangles."""

from __future__ import annotations

import numpy as np

__all__ = ["from_upper_triangle", "to_upper_triangle"]


def from_upper_triangle(flat: np.ndarray, *, n: int) -> np.ndarray:
    """Return symmetric matrices (N, n, n) from rows (N, n(n+1)/2) in the order of ``np.triu_indices(n)``."""
    rows, columns = np.triu_indices(n)
    x = np.empty((len(flat), n, n), dtype=flat.dtype)
    x[:, rows, columns] = flat
    x[:, columns, rows] = flat
    return x


def to_upper_triangle(x: np.ndarray) -> np.ndarray:
    """Return the rows (N, n(n+1)/2) that :func:`from_upper_triangle` takes."""
    rows, columns = np.triu_indices(x.shape[-1])
    return x[:, rows, columns]
