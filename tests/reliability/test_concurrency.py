"""One model in several threads.

Two processes that fill one data cache and interrupted downloads: tests/datasets/test_datasets_download.py.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from spdnorm.linalg import checks, checks_active, eigh_backend
from spdnorm.models import SPDNet
from spdnorm.nn import DomainBatchNorm, SPDMomentumBatchNorm
from spdnorm.testing import spd_matrices

THREADS = 4


@pytest.mark.parametrize("norm", ["gbw", "spdm", "lie"])
def test_inference_from_several_threads_is_that_of_one(norm):
    torch.manual_seed(0)
    net = SPDNet((6, 4), 3, norm=norm, dtype=torch.float64)
    net(spd_matrices(6, 16))
    net.eval()
    batches = [spd_matrices(6, 12, seed=i) for i in range(60)]
    with torch.no_grad():
        expected = [net(x) for x in batches]

        def run(x):
            with torch.no_grad():
                return net(x)

        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(run, batches))
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_gradients_from_several_threads_are_those_of_one():
    net = SPDNet((6, 4), 3, norm="gbw", dtype=torch.float64).eval()
    batches = [spd_matrices(6, 8, seed=i) for i in range(24)]

    def run(x):
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(net(leaf).square().sum(), leaf)[0]

    expected = [run(x) for x in batches]
    with ThreadPoolExecutor(THREADS) as pool:
        assert all(torch.equal(a, b) for a, b in zip(pool.map(run, batches), expected, strict=True))


def test_domains_from_several_threads_are_not_mixed_up():
    layer = DomainBatchNorm(SPDMomentumBatchNorm(4, dtype=torch.float64), THREADS)
    for domain in range(THREADS):
        layer.adapt((domain + 1) * spd_matrices(4, 10, seed=domain), domain)
    layer.eval()
    x = spd_matrices(4, 6)
    domains = [torch.full((6,), i % THREADS) for i in range(200)]
    with torch.no_grad():
        expected = [layer(x, d) for d in domains[:THREADS]]

        def run(d):
            with torch.no_grad():
                return layer(x, d)

        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(run, domains))
    assert all(torch.equal(y, expected[i % THREADS]) for i, y in enumerate(found))


def test_switches_belong_to_their_thread():
    def look():
        return checks_active(torch.eye(2))

    with checks(False), eigh_backend("host"), ThreadPoolExecutor(1) as pool:
        assert not look()
        assert pool.submit(look).result()
