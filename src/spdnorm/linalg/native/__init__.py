"""Eigendecompositions of many small matrices on the CPU, several at once in the lanes of vector registers.

LAPACK decomposes a matrix of size 30 in 50 microseconds, mostly waiting: its inner loops are too short for the
processor's vector units. Here eight matrices (sixteen in float32, on a processor with 512-bit registers) go through the
same steps side by side. The C++ beside this module is compiled on first use (:mod:`spdnorm.linalg.native.build`); where
that is not possible, torch does the work.
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from spdnorm.linalg.native.build import HERE, BuildError, library

#: Matrices above this size leave the caches that the lanes share; LAPACK's blocked algorithm is as fast there.
LARGEST = 128
#: A single matrix above this size is faster with LAPACK: seven of the eight lanes would have nothing to do.
LARGEST_ALONE = 24
#: What functions are called by the numbers that they take.
TYPE_NAMES = {torch.float64: "float64", torch.float32: "float32"}


def unavailable() -> str | None:
    """Why there is no compiled code; ``None`` where there is.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> reason = native.unavailable()
    """
    found = library(HERE / "eigh.cpp")
    return str(found) if isinstance(found, BuildError) else None


def worthwhile(x: Tensor) -> bool:
    """Whether ``x`` (..., n, n) is of a kind that goes faster here than with LAPACK.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> native.worthwhile(torch.eye(200))
    False
    """
    n = x.shape[-1]
    if x.device.type != "cpu" or x.dtype not in TYPE_NAMES or not 1 < n <= LARGEST or x.numel() == 0:
        return False
    alone = x.numel() < 4 * n * n
    return (not alone or n <= LARGEST_ALONE) and unavailable() is None


def address(x: Tensor) -> ctypes.c_void_p:
    """Where the numbers of ``x`` lie."""
    return ctypes.c_void_p(x.data_ptr())


def eigh(x: Tensor) -> tuple[Tensor, Tensor] | None:
    """Ascending eigenvalues and eigenvectors of symmetric ``x`` (..., n, n); None where one does not converge (NaN).

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> if native.unavailable() is None:
    ...     values, vectors = native.eigh(torch.diag(torch.tensor([3.0, 1.0])))
    """
    found = library(HERE / "eigh.cpp")
    if isinstance(found, BuildError):
        raise RuntimeError(f"there is no compiled eigensolver: {found}")
    n = x.shape[-1]
    flat = x.detach().contiguous()
    values, vectors = flat.new_empty(x.shape[:-1]), flat.new_empty(x.shape)
    solve = getattr(found, f"eigh_{TYPE_NAMES[x.dtype]}")
    solve.restype = ctypes.c_int64
    count = ctypes.c_int64(flat.numel() // (n * n))
    failures = solve(address(flat), count, n, address(values), address(vectors), _threads(flat))
    return None if failures else (values, vectors)


def _threads(x: Tensor) -> int:
    """A thread costs some 20 microseconds to start."""
    return torch.get_num_threads() if x.numel() * x.shape[-1] >= 200_000 else 1
