"""The one eigendecomposition: every part of the library calls :func:`eigh`, which picks a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

Backend = Callable[[Tensor], tuple[Tensor, Tensor]]

# cuSOLVER's batched solver stops at this size; above it torch goes matrix by matrix.
CUDA_BATCHED_LIMIT = 32


def _torch_backend(x: Tensor) -> tuple[Tensor, Tensor]:
    try:
        values, vectors = torch.linalg.eigh(x)
    except torch.linalg.LinAlgError as error:
        # LAPACK says "ill-conditioned" of NaN too, and fails on nothing else that has been seen.
        if bool(torch.isfinite(x).all()):
            raise
        raise ValueError(
            f"numbers have left the range of {x.dtype} on the way from `x`: it is too near to singular, or scaled too "
            "far from 1, for this metric; rescale it, raise its least eigenvalues (`floor`), or call .to(torch.float64)"
        ) from error
    return values, vectors


def _host_backend(x: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(x.cpu())
    return values.to(x.device), vectors.to(x.device)


_backends: dict[str, Backend] = {"torch": _torch_backend, "host": _host_backend}
_forced: ContextVar[str | None] = ContextVar("spdnorm_eigh_backend", default=None)


def register_backend(name: str, backend: Backend) -> None:
    """Add an eigensolver: (..., n, n) symmetric -> ascending values (..., n) and vectors (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import backends, register_backend
    >>> register_backend("mine", lambda x: tuple(torch.linalg.eigh(x)))
    >>> "mine" in backends()
    True
    """
    _backends[name] = backend


def backends() -> list[str]:
    """Names of the registered eigensolvers.

    Examples
    --------
    >>> from spdnorm.linalg import backends
    >>> "torch" in backends()
    True
    """
    return sorted(_backends)


@contextmanager
def eigh_backend(name: str | None) -> Iterator[None]:
    """Force an eigensolver within the block (``None``: the automatic choice).

    Examples
    --------
    >>> from spdnorm.linalg import eigh, eigh_backend
    >>> with eigh_backend("host"):
    ...     values, _ = eigh(torch.eye(3))
    >>> values
    tensor([1., 1., 1.])
    """
    if name is not None and name not in _backends:
        raise ValueError(f"unknown eigh backend {name!r}: choose one of {', '.join(backends())}")
    token = _forced.set(name)
    try:
        yield
    finally:
        _forced.reset(token)


def eigh(x: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (..., n), ascending, and orthonormal eigenvectors (..., n, n) of symmetric ``x``.

    Carries no derivative of its own: spectral functions take theirs from the Daleckii-Krein formula
    (:mod:`spdnorm.linalg.spectral`), which has no pole at equal eigenvalues.

    Examples
    --------
    >>> from spdnorm.linalg import eigh
    >>> values, vectors = eigh(torch.diag(torch.tensor([3.0, 1.0])))
    >>> values
    tensor([1., 3.])
    """
    if torch.compiler.is_compiling():
        values, vectors = torch.linalg.eigh(x)
        return values, vectors
    name = _forced.get()
    if name is None:
        # Above the batched limit many small host solves beat one serial pass over the device (measured on an
        # H200 at n = 75, batch 256: 18 ms against 250 ms).
        serial = x.is_cuda and x.shape[-1] > CUDA_BATCHED_LIMIT and x.dim() > 2
        name = "host" if serial else "torch"
    return _backends[name](x)
