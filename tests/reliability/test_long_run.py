"""20,000 steps at a large learning rate on ill-conditioned data: nothing leaves the manifolds, nothing piles up."""

from __future__ import annotations

import pytest
from tests.reliability.long_run import STEPS, check, make, train

from spdnorm.linalg import eigh_backend


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("manifold", [False, True], ids=["parametrised", "riemannian"])
def test_20_000_steps(manifold):
    net, optimizer = make(manifold=manifold)
    check(net, train(net, optimizer, STEPS))


@pytest.mark.parametrize("manifold", [False, True], ids=["parametrised", "riemannian"])
def test_60_steps_with_the_solver_on_the_host(manifold):
    net, optimizer = make(manifold=manifold)
    with eigh_backend("host"):
        check(net, train(net, optimizer, 60))
