"""The two kinds of data set: signals and SPD matrices.

Both are frozen: selecting gives a new object that shares what it can. ``metadata`` is a table, one array of
length N for each column (``subject``, ``session``, ``split``, ``recording``, ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from . import checks
from .base import Dataset

__all__ = ["Dataset", "MatrixDataset", "SignalDataset"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SignalDataset(Dataset):
    """Multichannel signals.

    Parameters
    ----------
    x : ndarray, shape (N, channels, times)
        Signals; where lengths differ, each is padded with zeros at its end up to the longest.
    sampling_rate : float
        In hertz; ``nan`` where the source does not say.
    channel_names : tuple of str
        One name for each channel.
    lengths : ndarray of int64, shape (N,), optional
        True lengths; ``None`` where all fill the time axis.

    Examples
    --------
    >>> from spdnorm.datasets import make_ssvep
    >>> eeg = make_ssvep(n_subjects=1, n_sessions=1, trials_per_class=1)
    >>> spd = eeg.to_spd(normalize="trace", regularization=1e-5)
    >>> spd.x.shape
    (5, 8, 8)
    """

    sampling_rate: float = float("nan")
    channel_names: tuple[str, ...] = ()
    lengths: np.ndarray | None = None

    def __post_init__(self) -> None:
        checks.shape(self.x, (None, None, None), what=f"{self.name}: x (samples, channels, times)")
        super().__post_init__()
        if self.channel_names:
            checks.shape(self.x, (None, len(self.channel_names), None), what=f"{self.name}: x")
        if self.lengths is not None:
            checks.shape(self.lengths, (len(self.x),), what=f"{self.name}: lengths")

    def _select_more(self, which: np.ndarray) -> dict[str, Any]:
        return {} if self.lengths is None else {"lengths": self.lengths[which]}

    @property
    def n_channels(self) -> int:
        """Number of channels."""
        return int(self.x.shape[1])

    @property
    def n_times(self) -> int:
        """Number of time samples (of the longest signal)."""
        return int(self.x.shape[2])

    def filtered(self, bands: Sequence[tuple[float, float]]) -> SignalDataset:
        """Return the channels once for each (low, high) in hertz, band after band: :func:`~.filter_bank.filter_bank`.

        ``dataset.filtered([(12, 14), (16, 18)]).to_spd()`` has matrices of twice as many rows as there are channels.
        """
        from .filter_bank import filter_bank

        if self.lengths is not None:
            raise ValueError(f"{self.name}: signals of different lengths cannot be filtered in their padded form")
        names = [f"{name} {low:g}-{high:g} Hz" for low, high in bands for name in self.channel_names]
        x = filter_bank(self.x, bands, sampling_rate=self.sampling_rate)
        return replace(self, x=x, channel_names=tuple(names))

    def to_spd(self, *, dtype: np.dtype | str | None = None, **options: Any) -> MatrixDataset:
        """Return one covariance matrix for each signal; ``options`` as in :func:`~.covariances.covariance`."""
        from .covariances import CovarianceOptions, covariance

        chosen = CovarianceOptions(**options)
        matrices = covariance(self.x, lengths=self.lengths, dtype=dtype, **options)
        return MatrixDataset(
            name=self.name,
            x=matrices,
            y=self.y,
            class_names=self.class_names,
            metadata=self.metadata,
            licence=self.licence,
            citation=self.citation,
            feature_names=self.channel_names,
            regularization=chosen.regularization,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixDataset(Dataset):
    """Symmetric positive (semi-)definite matrices.

    Parameters
    ----------
    x : ndarray, shape (N, n, n)
        Symmetric matrices; singular ones unless a regularisation was asked for.
    feature_names : tuple of str
        One name for each row, where known.
    regularization : float
        The lambda of ``X + lambda I`` that was already added.

    Examples
    --------
    >>> from spdnorm.datasets import make_spd_classes
    >>> data = make_spd_classes(n_samples=20, n_features=4, n_classes=2)
    >>> data.where(split="train").x.shape
    (10, 4, 4)
    """

    feature_names: tuple[str, ...] = ()
    regularization: float = 0.0

    def __post_init__(self) -> None:
        checks.shape(self.x, (None, None, None), what=f"{self.name}: x (samples, n, n)")
        checks.shape(self.x, (None, self.x.shape[2], None), what=f"{self.name}: x (samples, n, n)")
        super().__post_init__()

    @property
    def n_features(self) -> int:
        """Matrix size n."""
        return int(self.x.shape[-1])

    def regularized(self, lam: float) -> Self:
        """Return ``X + lam I``, the paper's regularisation."""
        eye = np.eye(self.n_features, dtype=self.x.dtype)
        return replace(self, x=self.x + lam * eye, regularization=self.regularization + lam)

    def normalized(self) -> Self:
        """Return ``X / tr X``, for which one lambda fits all samples; to be done before :meth:`regularized`."""
        trace = np.trace(self.x, axis1=1, axis2=2)[:, None, None]
        if self.regularization:
            raise ValueError("normalize before regularizing: lambda is already on the diagonal")
        if (trace <= 0).any():
            raise ValueError(f"matrix {int(np.argmax(trace.ravel() <= 0))} has no positive trace")
        return replace(self, x=self.x / trace)
