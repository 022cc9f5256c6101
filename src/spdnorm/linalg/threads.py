"""A batch of eigendecompositions over several threads: LAPACK is called outside of Python's lock."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

#: Below so many multiplications (N n^3) a thread costs more than it saves (measured: 30 matrices of size 30).
LEAST_WORK = 400_000


@functools.cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    # One for each process: threads do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix="spdnorm-eigh")


def _solve(x: Tensor) -> tuple[Tensor, Tensor]:
    values, vectors = torch.linalg.eigh(x)
    return values, vectors


def worth_splitting(x: Tensor, threads: int) -> bool:
    """Whether ``x`` (..., n, n) is worth more than one thread."""
    return threads > 1 and x.dim() > 2 and x.numel() * x.shape[-1] >= LEAST_WORK


def split_eigh(x: Tensor, threads: int) -> tuple[Tensor, Tensor]:
    """Eigendecomposition of ``x`` (..., n, n) on the CPU, the batch in one piece for each of ``threads``."""
    flat = x.detach().reshape(-1, *x.shape[-2:])
    pieces = flat.tensor_split(min(threads, max(flat.shape[0], 1)))
    first, *rest = pieces
    running = [_pool(os.getpid(), threads).submit(_solve, piece) for piece in rest]
    solved = [_solve(first), *(r.result() for r in running)]
    values = torch.cat([v for v, _ in solved])
    # Each piece's vectors lie column by column; so does the whole.
    vectors = torch.cat([u.mT for _, u in solved]).mT
    return values.reshape(x.shape[:-1]), vectors.reshape(x.shape)
