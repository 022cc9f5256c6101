"""Distances of equal and of nearby points: where naive formulas cancel."""

from __future__ import annotations

import pytest
import torch

from spdnorm.geometry import BuresWasserstein
from spdnorm.testing import spd_matrices, tangents

BW = BuresWasserstein()


@pytest.mark.parametrize("n", [1, 2, 5, 22, 75])
def test_identity(n: int) -> None:
    for dtype, limit in ((torch.float32, 1e-7), (torch.float64, 1e-12)):
        identity = torch.eye(n, dtype=dtype)
        assert float(BW.distance(identity, identity)) < limit


@pytest.mark.parametrize("condition", [1.0, 10.0, 1e4, 1e8])
def test_random_points(condition: float) -> None:
    """d(X, X) is rounding: the size of X^1/2 times epsilon and the root of the condition number.

    The naive formula leaves the root of epsilon, even for the identity. Beyond a condition number of 1 / epsilon
    (float32 at 1e8) the matrix itself is singular to working precision.
    """
    for dtype in (torch.float32, torch.float64):
        x = spd_matrices(6, 5, condition=condition, dtype=dtype)
        size = x.diagonal(dim1=-2, dim2=-1).sum(-1).sqrt()
        eps = torch.finfo(dtype).eps
        allowed = eps * max(20.0, 2 * min(condition, 1 / eps) ** 0.5)
        assert float((BW.distance(x, x) / size).max()) < allowed


@pytest.mark.parametrize("h", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_nearby_points(h: float) -> None:
    """d(X, X + h U) = h |U|_X up to second order and to the rounding of X + h U itself."""
    x, u = spd_matrices(4, 3, condition=10.0), tangents(4, 3)
    expected = h * BW.norm(x, u)
    error = ((BW.distance(x, x + h * u) - expected).abs() / expected).max()
    assert float(error) < 10 * h + 20 * torch.finfo(torch.float64).eps / h


def test_gradients_at_coincidence() -> None:
    x = spd_matrices(4, 3).requires_grad_()
    y = x.detach().clone().requires_grad_()
    for grad in torch.autograd.grad(BW.distance(x, y).sum(), (x, y)):
        assert torch.isfinite(grad).all()
    for grad in torch.autograd.grad(BW.squared_distance(x, y).sum(), (x, y)):
        assert float(grad.abs().max()) < 1e-12
