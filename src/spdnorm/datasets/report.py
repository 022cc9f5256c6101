"""Rank, conditioning and composition of a data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .base import Dataset
from .types import MatrixDataset

if TYPE_CHECKING:
    import torch

__all__ = ["CONDITION_THRESHOLDS", "SpectrumReport", "composition", "spectrum_report"]

#: The thresholds of the paper's table of ill-conditioned matrices.
CONDITION_THRESHOLDS = (1e3, 1e4, 1e5)
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, kw_only=True)
class SpectrumReport:
    """What the eigenvalues of a set of matrices say.

    Parameters
    ----------
    n_samples, n_features : int
        Number and size of the matrices.
    rank : ndarray of int64, shape (N,)
        Eigenvalues above the tolerance.
    condition : ndarray, shape (N,)
        Largest over smallest eigenvalue; infinite where the smallest is not above the tolerance.
    condition_on_range : ndarray, shape (N,)
        Largest over smallest eigenvalue above the tolerance.
    smallest, largest : ndarray, shape (N,)
        Eigenvalues.
    """

    n_samples: int
    n_features: int
    rank: np.ndarray
    condition: np.ndarray
    condition_on_range: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray

    def quantiles(self, name: str) -> dict[float, float]:
        """Return the minimum, quartiles and maximum of a column."""
        # "lower" never averages a finite value with an infinite one.
        values = np.quantile(getattr(self, name), QUANTILES, method="lower")
        return dict(zip(QUANTILES, values.tolist(), strict=True))

    def ill_conditioned(self) -> dict[float, int]:
        """Return how many matrices exceed each of the paper's thresholds (singular ones exceed all)."""
        return {threshold: int((self.condition > threshold).sum()) for threshold in CONDITION_THRESHOLDS}


def spectrum_report(
    x: np.ndarray | torch.Tensor | MatrixDataset, *, rtol: float | None = None, chunk_size: int = 2048
) -> SpectrumReport:
    """Compute ranks and condition numbers of symmetric matrices (N, n, n), a chunk at a time, in float64.

    Parameters
    ----------
    x : ndarray, tensor or MatrixDataset
        The matrices.
    rtol : float, optional
        Eigenvalues up to ``rtol`` times the largest count as zero; by default ``n`` times the machine epsilon of the
        precision that ``x`` comes in, as ``numpy.linalg.matrix_rank`` has it.
    chunk_size : int
        Matrices at a time.

    Examples
    --------
    >>> from spdnorm.datasets import make_spd_classes, spectrum_report
    >>> report = spectrum_report(make_spd_classes(n_samples=50, condition_number=1e3))
    >>> int(report.rank.min()), bool((report.condition > 1e5).any())
    (8, False)
    """
    import torch

    if isinstance(x, MatrixDataset):
        x = x.x
    matrices = torch.as_tensor(x)
    if matrices.ndim != 3 or matrices.shape[-1] != matrices.shape[-2]:
        raise ValueError(f"x has shape {tuple(matrices.shape)}, expected (samples, n, n)")
    n = matrices.shape[-1]
    if rtol is None:
        rtol = n * torch.finfo(matrices.dtype).eps
    values = np.concatenate([torch.linalg.eigvalsh(part.double()).cpu().numpy() for part in matrices.split(chunk_size)])
    largest, smallest = values[:, -1], values[:, 0]
    positive = values > rtol * np.maximum(largest, 0)[:, None]
    smallest_positive = np.where(positive, values, np.inf).min(axis=1)
    full = positive.all(axis=1)
    on_range = np.where(positive.any(axis=1), largest / smallest_positive, np.inf)
    return SpectrumReport(
        n_samples=len(values),
        n_features=n,
        rank=positive.sum(axis=1),
        condition=np.where(full, on_range, np.inf),
        condition_on_range=on_range,
        smallest=smallest,
        largest=largest,
    )


def composition(dataset: Dataset, *, limit: int = 40) -> dict[str, dict[str, int]]:
    """Return how many samples each class has, and each value of the columns with at most ``limit`` values.

    Examples
    --------
    >>> from spdnorm.datasets import composition, make_spd_classes
    >>> composition(make_spd_classes(n_samples=20, n_classes=2))
    {'class': {'class 0': 10, 'class 1': 10}, 'split': {'test': 10, 'train': 10}}
    """
    counts = np.bincount(dataset.y, minlength=dataset.n_classes)
    result = {"class": dict(zip(dataset.class_names, counts.tolist(), strict=True))}
    for name, values in dataset.metadata.items():
        found, number = np.unique(values, return_counts=True)
        if len(found) <= limit:
            result[name] = dict(zip((str(value) for value in found.tolist()), number.tolist(), strict=True))
    return result
