"""Small matrices on the CPU, compiled: many eigendecompositions at once, in the lanes of vector registers.

LAPACK decomposes a matrix of size 30 in 50 microseconds, mostly waiting: its inner loops are too short for the
processor's vector units. Here eight matrices (sixteen in float32, on a processor with 512-bit registers) go through the
same steps side by side. The C++ beside this module is compiled on first use (:mod:`spdnorm.linalg.native.build`); where
that is not possible, torch does the work.

- ``lanes.hpp``, ``products.hpp``, ``eigh.hpp``, ``svd.hpp``: algorithms on lanes; ``dense.hpp``: one matrix at a time;
- ``parallel.hpp``: threads and memory; ``matrices.cpp``: what this module calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from spdnorm.linalg.native.build import HERE, function, reason

_SOURCE = HERE / "matrices.cpp"
#: The largest size that was measured to be faster: beyond, the lanes' matrices leave the caches.
LARGEST = 256
#: A single matrix above this size is faster with LAPACK: seven of the eight lanes would have nothing to do.
LARGEST_ALONE = 24
#: Multiplications (N n^3) that are worth another thread, which takes some 20 microseconds to start.
LEAST_WORK = 200_000
#: What functions are called by the numbers that they take.
TYPE_NAMES = {torch.float64: "float64", torch.float32: "float32"}

#: exp(rate S) of the matrix of this index.
Term = tuple[int, float]


class _Term(ctypes.Structure):
    _fields_ = [("which", ctypes.c_int64), ("rate", ctypes.c_double)]


def unavailable() -> str | None:
    """Why there is no compiled code; ``None`` where there is.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> reason = native.unavailable()
    """
    return reason(_SOURCE)


def takes(x: Tensor) -> bool:
    """Whether ``x`` (..., n, n) is of a kind that compiled code takes, and there is such code.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> native.takes(torch.eye(2, dtype=torch.int64))
    False
    """
    return x.device.type == "cpu" and x.dtype in TYPE_NAMES and x.numel() > 0 and unavailable() is None


def worthwhile(x: Tensor) -> bool:
    """Whether ``x`` (..., n, n) is decomposed faster here than with LAPACK.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> native.worthwhile(torch.eye(300))
    False
    """
    n = x.shape[-1]
    alone = x.numel() < 4 * n * n
    return 1 < n <= (LARGEST_ALONE if alone else LARGEST) and takes(x)


def _function(name: str, dtype: torch.dtype) -> Any:
    return function(_SOURCE, f"{name}_{TYPE_NAMES[dtype]}")


def address(x: Tensor | None) -> ctypes.c_void_p:
    """Where the numbers of ``x`` lie.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> native.address(None).value is None
    True
    """
    return ctypes.c_void_p(None if x is None else x.data_ptr())


def _threads(x: Tensor) -> int:
    return torch.get_num_threads() if x.numel() * x.shape[-1] >= LEAST_WORK else 1


def eigh(x: Tensor) -> tuple[Tensor, Tensor] | None:
    """Ascending eigenvalues and eigenvectors of symmetric ``x`` (..., n, n); None where one does not converge (NaN).

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> if native.unavailable() is None:
    ...     values, vectors = native.eigh(torch.diag(torch.tensor([3.0, 1.0])))
    """
    n = x.shape[-1]
    flat = x.detach().contiguous()
    values, vectors = flat.new_empty(x.shape[:-1]), flat.new_empty(x.shape)
    count = ctypes.c_int64(flat.numel() // (n * n))
    failures = _function("eigh", x.dtype)(address(flat), count, n, address(values), address(vectors), _threads(flat))
    return None if failures else (values, vectors)


def svd(w: Tensor) -> tuple[Tensor, Tensor, Tensor] | None:
    """Left vectors, descending singular values and right vectors (not transposed) of ``w`` (..., n, n).

    None where a matrix is singular to working precision, or does not converge. Small singular values keep their digits.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> if native.unavailable() is None:
    ...     left, sigma, right = native.svd(torch.diag(torch.tensor([2.0, -3.0])))
    """
    n = w.shape[-1]
    flat = w.detach().contiguous()
    left, sigma, right = torch.empty_like(flat), flat.new_empty(w.shape[:-1]), torch.empty_like(flat)
    count, where = ctypes.c_int64(flat.numel() // (n * n)), (address(left), address(sigma), address(right))
    failures = _function("svd", w.dtype)(address(flat), count, n, *where, _threads(flat))
    return None if failures else (left, sigma, right)


def extent(x: Tensor) -> tuple[float, float]:
    """max |x| and max |X - X^T| of ``x`` (..., n, n); the first is infinite where a number is infinite or NaN.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> if native.unavailable() is None:
    ...     size, skew = native.extent(torch.eye(2))
    """
    n = x.shape[-1]
    flat, found = x.detach().contiguous(), x.new_empty(2)
    count = ctypes.c_int64(flat.numel() // (n * n))
    _function("extent", x.dtype)(address(flat), count, n, address(found), _threads(flat))
    size, skew = found.tolist()
    return size, skew


def _array(terms: Sequence[Term]) -> Any:
    return (_Term * len(terms))(*(_Term(*term) for term in terms))


def exponentials(values: Tensor, vectors: Tensor, terms: Sequence[Term]) -> Tensor:
    """The terms (t, n, n) of matrices with these eigenvalues (m, n), which are raised in place, and vectors (m, n, n).

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> if native.unavailable() is None:
    ...     roots = native.exponentials(torch.zeros(1, 2), torch.eye(2)[None], [(0, 0.5), (0, -0.5)])
    """
    count, n = values.shape
    # LAPACK's vectors lie column by column.
    values, vectors = values.contiguous(), vectors.contiguous()
    out = values.new_empty(len(terms), n, n)
    asked = _array(terms)
    where = address(values), address(vectors), address(out)
    _function("exponentials", values.dtype)(count, n, asked, len(terms), *where)
    return out


def exponentials_adjoint(
    values: Tensor, vectors: Tensor, terms: Sequence[Term], grads: Sequence[Tensor | None]
) -> Tensor:
    """Gradient in S (m, n, n) from those of the terms.

    Examples
    --------
    >>> from spdnorm.linalg import native
    >>> if native.unavailable() is None:
    ...     gradient = native.exponentials_adjoint(torch.zeros(1, 2), torch.eye(2)[None], [(0, 1.0)], [torch.eye(2)])
    """
    count, n = values.shape
    vectors = vectors.contiguous()
    of_s, dense = torch.empty_like(vectors), [None if g is None else g.contiguous() for g in grads]
    asked = _array(terms)
    gradients = (ctypes.c_void_p * len(terms))(*(None if g is None else g.data_ptr() for g in dense))
    _function("exponentials_adjoint", values.dtype)(
        count, n, asked, len(terms), address(values), address(vectors), gradients, address(of_s)
    )
    return of_s
