"""The compiled functions and the structures that they take: tensors go by address."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spdnorm.linalg.native import TYPE_NAMES
from spdnorm.linalg.native.build import function, reason

_SOURCE = Path(__file__).parent / "bures_wasserstein.cpp"
#: Multiplications (N n^3) that are worth another thread, which takes some 20 microseconds to start.
LEAST_WORK = 200_000


class _Problem(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("x", "k", "outward", "anchor", "scale", "mean", "variance")),
        *((name, ctypes.c_double) for name in ("eps", "weight")),
        ("count", ctypes.c_int64),
        ("n", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("own_statistics", ctypes.c_int64),
    ]


_Addresses = ctypes.c_void_p * 10


def unavailable() -> str | None:
    """Why there is no compiled code; ``None`` where there is."""
    return reason(_SOURCE)


def _function(name: str, dtype: torch.dtype) -> Any:
    return function(_SOURCE, f"{name}_{TYPE_NAMES[dtype]}")


class _Sizes(NamedTuple):
    """Samples that go side by side, numbers of the shared state, and numbers kept for each sample."""

    lanes: int
    state: int
    kept: int
    fold: int


@cache
def _sizes(n: int, own_mean: bool, dtype: torch.dtype) -> _Sizes:
    lanes, state = _function("lanes", dtype)(), _function("state_size", dtype)(n)
    return _Sizes(lanes, state, function(_SOURCE, "kept_size")(n, own_mean), function(_SOURCE, "fold_size")(n))


def _addresses(tensors: Sequence[Tensor | None]) -> Any:
    """Structures of addresses alone are arrays of them."""
    return _Addresses(*[None if t is None else t.data_ptr() for t in tensors])


class Call:
    """Functions of one problem: ``inputs`` are x, K, M^1/2, the bias's anchor, the scale, the mean and the variance."""

    def __init__(
        self, inputs: Sequence[Tensor | None], *, eps: float, weight: float, own_statistics: bool = True
    ) -> None:
        # Kept here, so that copies live as long as their addresses are used.
        self._inputs = [None if t is None else t.contiguous() for t in inputs]
        x = self._inputs[0]
        assert x is not None
        self.x = x
        count, n = x.shape[0], x.shape[-1]
        threads = torch.get_num_threads() if count * n**3 >= LEAST_WORK else 1
        addresses = [None if t is None else t.data_ptr() for t in self._inputs]
        self._problem = _Problem(*addresses, eps, weight, count, n, threads, own_statistics)
        sizes = _sizes(n, inputs[5] is None, x.dtype)
        self.state_size, self.kept_size, self.fold_size = sizes.state, sizes.kept, sizes.fold
        self._slots = -(-count // sizes.lanes) * sizes.lanes

    def room(self, elements: int) -> Tensor:
        """Memory for so many numbers a sample."""
        return self.x.new_empty(self._slots * elements)

    def __call__(self, name: str, kept: Sequence[Tensor | None], results: Sequence[Tensor | None]) -> int:
        """The function's status: 0, or 1 where a decomposition did not converge."""
        call = _function(name, self.x.dtype)
        status: int = call(ctypes.byref(self._problem), _addresses(kept), _addresses(results))
        return status


def towards(a: Tensor, values: Tensor, vectors: Tensor, t: float) -> Tensor | None:
    """The point at ``t`` of the geodesic from ``a`` (n, n) to the matrix with these eigenvalues and eigenvectors.

    None where the two have a null space between them, or it does not converge (NaN).
    """
    a, values, vectors = a.detach().contiguous(), values.contiguous(), vectors.contiguous()
    out = torch.empty_like(a)
    addresses = (ctypes.c_void_p(p.data_ptr()) for p in (out, a, values, vectors))
    failed = _function("towards", a.dtype)(*addresses, ctypes.c_double(t), a.shape[-1])
    return None if failed else out
