"""What all data sets have in common: samples, labels, names, metadata, and how to select among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import checks

if TYPE_CHECKING:
    import torch

__all__ = ["Dataset"]


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
