"""20,000 steps at a large learning rate on ill-conditioned data: nothing leaves the manifolds, nothing piles up."""

from __future__ import annotations

import pytest
import torch
from tests.reliability.long_run import STEPS, check, make, train

from spdnorm.linalg import eigh_backend
from spdnorm.nn import GBWBatchNorm
from spdnorm.nn.constraints import spd_roots, unconstrained
from spdnorm.optim import SPDManifold


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.parametrize(
    ("manifold", "backend"),
    [(False, None), (True, None), (False, "host")],
    ids=["parametrised", "riemannian", "parametrised, solver on the host"],
)
def test_20_000_steps(manifold, backend, record_property):
    net, optimizer = make(manifold=manifold)
    with eigh_backend(backend):
        peaks = train(net, optimizer, STEPS)
    for name, value in check(net, peaks).items():
        record_property(name, value)


@pytest.mark.parametrize("manifold", [False, True], ids=["parametrised", "riemannian"])
def test_60_steps_with_the_solver_on_the_host(manifold):
    net, optimizer = make(manifold=manifold)
    with eigh_backend("host"):
        check(net, train(net, optimizer, 60))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_parameters_stay_definite_however_far_they_have_wandered(dtype):
    layer = GBWBatchNorm(4, dtype=dtype)
    free = unconstrained(layer, "metric")
    with torch.no_grad():
        free.copy_(torch.diag(torch.tensor([-90.0, 0.0, 1.0, 5.0])) + 1)
    metric = layer.metric
    assert torch.linalg.eigvalsh(metric)[0] > 0
    root, inverse = spd_roots(layer, "metric")
    torch.testing.assert_close(root @ root, metric)
    assert torch.linalg.matrix_norm(inverse @ metric @ inverse - torch.eye(4)) < 1e-2
    # And they can come back.
    metric.logdet().backward()
    assert free.grad.diagonal()[0] > 0.1


def test_steps_towards_the_border_never_reach_it():
    manifold = SPDManifold("bwm")
    x = torch.eye(3, dtype=torch.float64)
    for _ in range(60):
        x = manifold.retr(x, torch.diag(torch.tensor([-9.0, 0.0, 0.01], dtype=torch.float64)) @ x)
        assert torch.linalg.eigvalsh(x)[0] > 0
    assert torch.linalg.eigvalsh(x)[0] < 1e-12
    y = manifold.retr(x, torch.diag(torch.tensor([1e-3, 0.0, 0.0], dtype=torch.float64)))
    assert torch.linalg.eigvalsh(y)[0] > 0
