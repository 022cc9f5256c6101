"""The one eigendecomposition: every part of the library calls :func:`eigh`, which picks a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from spdnorm.linalg import cusolver, native
from spdnorm.linalg.autograd import eager
from spdnorm.linalg.threads import split_eigh, worth_splitting

Backend = Callable[[Tensor], tuple[Tensor, Tensor]]

#: cuSOLVER's batched Jacobi solver stops at this size; above it torch goes matrix by matrix.
CUDA_BATCHED_LIMIT = 32


def _solve(x: Tensor) -> tuple[Tensor, Tensor]:
    threads = torch.get_num_threads()
    if x.device.type == "cpu" and worth_splitting(x, threads):
        return split_eigh(x, threads)
    values, vectors = torch.linalg.eigh(x)
    return values, vectors


def _torch_backend(x: Tensor) -> tuple[Tensor, Tensor]:
    try:
        return _solve(x)
    except torch.linalg.LinAlgError as error:
        # LAPACK says "ill-conditioned" of NaN too, and fails on nothing else that has been seen.
        if bool(torch.isfinite(x).all()):
            raise
        raise ValueError(
            f"numbers have left the range of {x.dtype} on the way from `x`: it is too near to singular, or scaled too "
            "far from 1, for this metric; rescale it, raise its least eigenvalues (`floor`), or call .to(torch.float64)"
        ) from error


def _native_backend(x: Tensor) -> tuple[Tensor, Tensor]:
    if x.device.type != "cpu" or (reason := native.unavailable()) is not None:
        why = f"`x` is on {x.device}" if x.device.type != "cpu" else reason
        raise RuntimeError(
            f"the compiled eigensolver cannot serve here ({why}): choose another with eigh_backend('torch')"
        )
    if x.numel() == 0 or x.dtype not in native.TYPE_NAMES:
        return _torch_backend(x)
    # What does not converge is LAPACK's to judge, in its own words.
    return native.eigh(x) or _torch_backend(x)


def _host_backend(x: Tensor) -> tuple[Tensor, Tensor]:
    on_host = x.cpu()
    values, vectors = _backends[_automatic(on_host)](on_host)
    return values.to(x.device), vectors.to(x.device)


def _cupy_backend(x: Tensor) -> tuple[Tensor, Tensor]:
    import cupy

    stream = torch.cuda.current_stream(x.device).cuda_stream
    with cupy.cuda.Device(x.device.index or 0), cupy.cuda.ExternalStream(stream):
        values, vectors = cupy.linalg.eigh(cupy.from_dlpack(x.detach()))
    return torch.from_dlpack(values), torch.from_dlpack(vectors)


_backends: dict[str, Backend] = {
    "torch": _torch_backend,
    "native": _native_backend,
    "host": _host_backend,
    "cusolver": cusolver.eigh,
    "cupy": _cupy_backend,
}
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
    return _backends[backend_for(x)](x)


def backend_for(x: Tensor) -> str:
    """Which eigensolver ``x`` (..., n, n) goes to here: the forced one, or the fastest that is there.

    Examples
    --------
    >>> from spdnorm.linalg import backend_for, eigh_backend
    >>> with eigh_backend("host"):
    ...     backend_for(torch.eye(3))
    'host'
    """
    return _forced.get() or _automatic(x)


def compiled(x: Tensor) -> bool:
    """Whether compiled code serves matrices like ``x`` here: there is some, and no other eigensolver is forced.

    Examples
    --------
    >>> from spdnorm.linalg import compiled, eigh_backend
    >>> with eigh_backend("torch"):
    ...     compiled(torch.eye(3))
    False
    """
    return eager() and _forced.get() in (None, "native") and native.takes(x)


def _automatic(x: Tensor) -> str:
    """The fastest that is there (benchmarks/README.md)."""
    if not x.is_cuda:
        return "native" if native.worthwhile(x) else "torch"
    if cusolver.available(x):
        # At small n as fast as torch, which asks the device for its verdict after each call and waits for it.
        return "cusolver"
    # Many small solves on the host beat one serial pass over the device.
    return "host" if x.dim() > 2 and x.shape[-1] > CUDA_BATCHED_LIMIT else "torch"
