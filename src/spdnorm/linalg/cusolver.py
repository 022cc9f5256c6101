"""Batched eigensolver of cuSOLVER (``cusolverDnXsyevBatched``), called in the library that torch has loaded already.

torch 2.11 solves matrix by matrix above n = 32 on a GPU. The batched routine has no such limit; it comes with CUDA 12.6
and later, and is called through :mod:`ctypes` on torch's own memory and stream: nothing to install, nothing copied.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

import torch
from torch import Tensor

from spdnorm.linalg.beside import beside

#: A single matrix larger than this goes with a copy of itself: cuSOLVER takes another way for one than for two, which
#: is slower (n = 75, float64, H200: 0.87 ms for one, 0.56 ms for two).
_ALONE = 32
_LIBRARIES = ("libcusolver.so.12", "libcusolver.so.11", "libcusolver.so")
_VECTORS = 1  # CUSOLVER_EIG_MODE_VECTOR
_LOWER = 0  # CUBLAS_FILL_MODE_LOWER
_TYPES = {torch.float32: 0, torch.float64: 1}  # CUDA_R_32F, CUDA_R_64F
_local = threading.local()


@functools.cache
def _library() -> ctypes.CDLL | None:
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(library, "cusolverDnXsyevBatched"):
            return library
    return None


def available(x: Tensor) -> bool:
    """Whether the routine can decompose ``x`` (..., n, n)."""
    return x.is_cuda and torch.version.cuda is not None and x.dtype in _TYPES and _library() is not None


def _check(status: int, routine: str) -> None:
    if status != 0:
        raise RuntimeError(f"{routine} failed with cuSOLVER status {status}: choose another with eigh_backend('torch')")


def _handle(device: torch.device) -> tuple[Any, Any]:
    """A handle and its parameters, for each thread and device two: for the main stream and for a branch beside it.

    Handles may not be shared by threads, nor by work that overlaps. Both are made at once, since none can be made while
    a graph is captured.
    """
    known = _local.__dict__.setdefault("handles", {})
    if device not in known:
        with torch.cuda.device(device):
            known[device] = _new_handle(), _new_handle()
    return known[device][beside()]


def _new_handle() -> tuple[Any, Any]:
    library = _library()
    assert library is not None
    handle, parameters = ctypes.c_void_p(), ctypes.c_void_p()
    _check(library.cusolverDnCreate(ctypes.byref(handle)), "cusolverDnCreate")
    _check(library.cusolverDnCreateParams(ctypes.byref(parameters)), "cusolverDnCreateParams")
    return handle, parameters


def _host_buffer(size: int) -> Any:
    """Workspace on the host that outlives the call: a captured CUDA graph reads and writes it at every replay."""
    known = _local.__dict__.setdefault("buffers", {})
    key = size, beside()
    if key not in known:
        known[key] = ctypes.create_string_buffer(max(size, 1))
    return known[key]


def eigh(x: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues (..., n), ascending, and vectors (..., n, n) of symmetric ``x`` on a GPU; waits for nothing."""
    library = _library()
    if library is None:
        raise RuntimeError(
            "this CUDA has no cusolverDnXsyevBatched (it comes with CUDA 12.6): use eigh_backend('torch')"
        )
    n = x.shape[-1]
    if x.numel() == 0:
        return x.new_empty(x.shape[:-1]), x.clone()
    # Overwritten by the vectors: symmetric, so that row order and column order are the same on the way in.
    flat = x.reshape(-1, n, n)
    if flat.shape[0] == 1 and n > _ALONE:
        flat = flat.expand(2, n, n)
    work = flat.clone(memory_format=torch.contiguous_format)
    count = work.shape[0]
    values = torch.empty(count, n, dtype=x.dtype, device=x.device)
    info = torch.empty(count, dtype=torch.int32, device=x.device)
    handle, parameters = _handle(x.device)
    kind = _TYPES[x.dtype]
    on_device, on_host = ctypes.c_size_t(), ctypes.c_size_t()
    with torch.cuda.device(x.device):
        stream = ctypes.c_void_p(torch.cuda.current_stream(x.device).cuda_stream)
        _check(library.cusolverDnSetStream(handle, stream), "cusolverDnSetStream")
        problem = (
            handle,
            parameters,
            _VECTORS,
            _LOWER,
            ctypes.c_int64(n),
            kind,
            ctypes.c_void_p(work.data_ptr()),
            ctypes.c_int64(n),
            kind,
            ctypes.c_void_p(values.data_ptr()),
            kind,
        )
        sizes = (ctypes.byref(on_device), ctypes.byref(on_host), ctypes.c_int64(count))
        _check(library.cusolverDnXsyevBatched_bufferSize(*problem, *sizes), "cusolverDnXsyevBatched_bufferSize")
        device_buffer = torch.empty(max(on_device.value, 1), dtype=torch.uint8, device=x.device)
        status = library.cusolverDnXsyevBatched(
            *problem,
            ctypes.c_void_p(device_buffer.data_ptr()),
            on_device,
            _host_buffer(on_host.value),
            on_host,
            ctypes.c_void_p(info.data_ptr()),
            ctypes.c_int64(count),
        )
        _check(status, "cusolverDnXsyevBatched")
    wanted = x.numel() // (n * n)
    return values[:wanted].reshape(x.shape[:-1]), work[:wanted].mT.reshape(x.shape)
