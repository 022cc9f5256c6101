"""A batch split over threads is the batch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from tests.helpers import spd_matrices

from spdnorm.linalg import eigh_backend, logm
from spdnorm.linalg.threads import split_eigh, worth_splitting


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shape", [(7, 5), (2, 3, 4), (1, 6), (0, 3)])
def test_equals_one_call(shape, threads):
    x = spd_matrices(shape[-1], *shape[:-1])
    values, vectors = split_eigh(x, threads)
    expected, _ = torch.linalg.eigh(x)
    torch.testing.assert_close(values, expected)
    torch.testing.assert_close((vectors * values.unsqueeze(-2)) @ vectors.mT, x)


def test_only_large_batches_are_split():
    assert not worth_splitting(torch.empty(30, 12, 12), 2)
    assert worth_splitting(torch.empty(256, 30, 30), 2)
    assert not worth_splitting(torch.empty(256, 30, 30), 1)
    assert not worth_splitting(torch.empty(200, 200), 2)


def test_from_several_threads_at_once():
    x = spd_matrices(6, 64)
    expected, _ = torch.linalg.eigh(x)
    with ThreadPoolExecutor(4) as pool:
        for values, _ in pool.map(lambda _: split_eigh(x, 2), range(16)):
            torch.testing.assert_close(values, expected)


@pytest.mark.parametrize("backend", ["torch", "host"])
def test_under_vmap(backend):
    x = spd_matrices(30, 8, 64)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with eigh_backend(backend):
            torch.testing.assert_close(torch.func.vmap(logm)(x), logm(x))
            torch.testing.assert_close(torch.func.vmap(torch.func.vmap(logm), in_dims=1, out_dims=1)(x), logm(x))
    finally:
        torch.set_num_threads(threads)
