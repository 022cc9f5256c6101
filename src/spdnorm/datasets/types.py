"""The two kinds of data set: signals and SPD matrices.

Both are frozen: selecting gives a new object that shares what it can. ``metadata`` is a table, one array of
length N for each column (``subject``, ``session``, ``split``, ``recording``, ...).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import checks

if TYPE_CHECKING:
    import torch

__all__ = ["Dataset", "MatrixDataset", "SignalDataset"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Dataset:
    """What signals and matrices have in common.

    Parameters
    ----------
    name : str
        Registry name.
    x : ndarray, shape (N, ...)
        Samples, first axis first.
    y : ndarray of int64, shape (N,)
        Labels in ``0 .. len(class_names) - 1``.
    class_names : tuple of str
        One name for each label.
    metadata : mapping of str to ndarray, each of length N
        Subject, session, split, recording and the like.
    licence, citation : str
        Terms of use of the data, and what to cite.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    class_names: tuple[str, ...]
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    licence: str = ""
    citation: str = ""

    def __post_init__(self) -> None:
        checks.labels(self.y, n=len(self.x), n_classes=len(self.class_names), what=self.name)
        for column, values in self.metadata.items():
            checks.shape(np.asarray(values), (len(self.x),), what=f"{self.name}: metadata column {column!r}")
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    def __getstate__(self) -> dict[str, Any]:
        # A mapping proxy cannot be pickled, and data sets travel to worker processes.
        return {**self.__dict__, "metadata": dict(self.metadata)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for key, value in state.items():
            object.__setattr__(self, key, MappingProxyType(value) if key == "metadata" else value)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    def column(self, name: str) -> np.ndarray:
        """Return one metadata column, shape (N,)."""
        if name not in self.metadata:
            raise KeyError(f"{self.name} has no metadata column {name!r}; it has {sorted(self.metadata)}")
        return self.metadata[name]

    def select(self, which: np.ndarray) -> Self:
        """Return the samples that a boolean mask (N,) or an index array picks, metadata along with them."""
        which = np.asarray(which)
        if which.dtype == bool:
            checks.shape(which, (len(self),), what="select(which)")
        elif which.dtype.kind not in "iu":
            raise TypeError(f"select(which) takes a boolean mask or integer indices, not {which.dtype}")
        taken = {key: values[which] for key, values in self.metadata.items()}
        return replace(self, x=self.x[which], y=self.y[which], metadata=taken, **self._select_more(which))

    def _select_more(self, which: np.ndarray) -> dict[str, Any]:
        return {}

    def where(self, **conditions: Any) -> Self:
        """Return the samples whose columns equal the given values (or are among them, given a collection).

        ``dataset.where(subject=11, split="train")``; ``dataset.where(session=[1, 2, 3])``.
        """
        mask = np.ones(len(self), dtype=bool)
        for name, wanted in conditions.items():
            values = np.asarray([wanted] if np.isscalar(wanted) else list(wanted))
            column = self.column(name)
            if not np.isin(values, column).all():
                absent = values[~np.isin(values, column)].tolist()
                raise ValueError(f"{self.name}: no sample has {name} {absent}; there are {np.unique(column).tolist()}")
            mask &= np.isin(column, values)
        return self.select(mask)

    def split_by(self, column: str) -> dict[Any, Self]:
        """Return ``{value: part}`` for each value of a column, in sorted order."""
        values = self.column(column)
        return {value.item(): self.select(values == value) for value in np.unique(values)}

    def tensors(
        self, *, dtype: torch.dtype | None = None, device: torch.device | str | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ``(x, y)`` as tensors; ``dtype`` defaults to torch's default floating dtype."""
        import torch

        dtype = dtype or torch.get_default_dtype()
        # A read-only memory map is copied: torch has no tensors that may not be written.
        values = np.require(self.x, requirements=("C", "W"))
        x = torch.as_tensor(values).to(device=device, dtype=dtype)
        return x, torch.as_tensor(self.y, dtype=torch.int64, device=device)


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
