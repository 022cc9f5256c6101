"""Checks that a loader runs on what it read. Each names the thing and what is wrong with it."""

from __future__ import annotations

import numpy as np

from .errors import CorruptDataError

__all__ = ["finite", "labels", "labels_of", "shape", "symmetric"]


def shape(array: np.ndarray, expected: tuple[int | None, ...], *, what: str) -> None:
    """Check an array's shape; ``None`` stands for any length."""
    if array.ndim != len(expected) or any(
        want is not None and have != want for have, want in zip(array.shape, expected, strict=True)
    ):
        sizes = ["any" if want is None else str(want) for want in expected]
        wanted = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
        raise CorruptDataError(f"{what} has shape {array.shape}, expected {wanted}")


def labels(y: np.ndarray, *, n: int, n_classes: int, what: str) -> None:
    """Check that labels are n integers in ``0 .. n_classes - 1``."""
    shape(y, (n,), what=f"{what}: labels")
    if y.dtype.kind not in "iu":
        raise CorruptDataError(f"{what}: labels are {y.dtype}, expected integers")
    if n and (y.min() < 0 or y.max() >= n_classes):
        bad = int(np.flatnonzero((y < 0) | (y >= n_classes))[0])
        raise CorruptDataError(
            f"{what}: labels out of range: sample {bad} has label {y[bad]}, expected 0 to {n_classes - 1}"
        )


def labels_of(y: np.ndarray, *, what: str) -> np.ndarray:
    """Return labels as int64; a file may hold them as floats, as MATLAB does, but not with a fraction."""
    if y.dtype.kind not in "iuf" or not np.array_equal(y, np.round(y)):
        raise CorruptDataError(f"{what}: labels are not whole numbers (they are {y.dtype})")
    return y.astype(np.int64)


def finite(array: np.ndarray, *, what: str) -> None:
    """Check that no value is NaN or infinite; names the first sample that has one."""
    good = np.isfinite(array)
    if not good.all():
        bad = np.argwhere(~good)
        raise CorruptDataError(
            f"{what}: {len(bad)} non-finite values, the first at index {tuple(int(i) for i in bad[0])}"
        )


def symmetric(x: np.ndarray, *, what: str, rtol: float = 1e-5) -> None:
    """Check that the matrices (N, n, n) are symmetric to ``rtol`` of their largest entry."""
    scale = np.abs(x).max(axis=(-2, -1), initial=0.0)
    gap = np.abs(x - np.swapaxes(x, -1, -2)).max(axis=(-2, -1), initial=0.0)
    if (gap > rtol * scale).any():
        bad = int(np.argmax(gap - rtol * scale))
        raise CorruptDataError(f"{what}: matrix {bad} is not symmetric (largest difference {gap[bad]:.2e})")
