"""The laws can fail: each mistake that a metric may hold is caught by the law that is meant for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from spdnorm.geometry import AffineInvariant, BuresWasserstein, Metric
from spdnorm.geometry.mean import MeanResult
from spdnorm.linalg import sqrtm, symmetrize
from spdnorm.testing import MetricLaws

RIGHT = AffineInvariant()


def _naive_distance(self: Metric, x: Tensor, y: Tensor) -> Tensor:
    return torch.sqrt(RIGHT._squared_distance(x, y))


def _eigh_log(self: Metric, x: Tensor, y: Tensor) -> Tensor:
    # Differentiated by torch's own eigenvectors, which have a pole at equal eigenvalues.
    inverse = torch.linalg.inv(sqrtm(x))
    values, vectors = torch.linalg.eigh(symmetrize(inverse @ y @ inverse))
    root = sqrtm(x)
    return symmetrize(root @ ((vectors * values.log().unsqueeze(-2)) @ vectors.mT) @ root)


def _arithmetic(self: Metric, xs: Tensor, average: Any, *_: Any) -> MeanResult:
    return MeanResult(average(xs), 2, xs.new_zeros(xs.shape[1:-2]))


def _look(self: Metric, x: Tensor, u: Tensor) -> Tensor:
    return RIGHT._exp(x, u) if float(u.sum()) > -1e300 else x


#: What is broken, how, the law that sees it, its arguments.
MISTAKES: dict[str, tuple[dict[str, Callable[..., Any]], str, tuple[Any, ...]]] = {
    "exp is a retraction": ({"_exp": lambda self, x, u: x + u}, "test_exp_undoes_log", (3,)),
    "log in the wrong scale": ({"_log": lambda self, x, y: 2 * RIGHT._log(x, y)}, "test_log_undoes_exp", (3,)),
    "inner product at the wrong point": (
        {"_inner": lambda self, x, u, v: (u * v).sum((-2, -1))},
        "test_distance_is_length_of_log",
        (),
    ),
    "distance is not symmetric": (
        {"_squared_distance": lambda self, x, y: RIGHT._squared_distance(x, y) * x[..., 0, 0]},
        "test_symmetry_and_triangle",
        (),
    ),
    "squared distance breaks the triangle": (
        {"_squared_distance": lambda self, x, y: RIGHT._squared_distance(x, y).square()},
        "test_symmetry_and_triangle",
        (),
    ),
    "geodesic is a chord": ({"_geodesic": lambda self, x, y, t: (1 - t) * x + t * y}, "test_geodesic", ()),
    "gradient of the distance at coincidence": ({"distance": _naive_distance}, "test_zero_at_coincidence", ()),
    "transport does nothing": ({"_transport": lambda self, x, y, u: u + 0 * y}, "test_isometry", ()),
    "transport loses the velocity": (
        {"_transport": lambda self, x, y, u: RIGHT._transport(x, y, u).mT.flip(-1).flip(-2)},
        "test_velocity_and_return",
        (),
    ),
    "mean is arithmetic": ({"_mean": _arithmetic}, "test_stationary", ()),
    "mean forgets its weights": (
        {"_mean": lambda self, xs, average, *a: RIGHT._mean(xs, lambda x: x.mean(0), *a)},
        "test_weights",
        (),
    ),
    "derivative at equal eigenvalues": ({"_log": _eigh_log}, "test_ties", ("identity", torch.float64)),
    "no gradient": ({"_exp": lambda self, x, u: RIGHT._exp(x.detach(), u)}, "test_gradcheck", ("exp", "generic")),
    "looks at its data": ({"_exp": _look}, "test_vmap", ("exp",)),
    "silently double": ({"_log": lambda self, x, y: RIGHT._log(x.double(), y)}, "test_float32", ("log",)),
    "lowered by autocast": ({"exp": lambda self, x, u: x @ u}, "test_autocast", ("exp",)),
    "one pair at a time": (
        {"_log": lambda self, x, y: torch.stack([RIGHT._log(a, b) for a, b in zip(x, y, strict=False)])},
        "test_broadcasting",
        (),
    ),
    "unchecked input": ({"_check": lambda self, **named: None}, "test_refusals", ()),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_caught(mistake: str) -> None:
    methods, law, arguments = MISTAKES[mistake]

    class Suite(MetricLaws):
        broken = False

        def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
            return type("Broken", (AffineInvariant,), methods)() if self.broken else RIGHT

    suite = Suite()
    getattr(suite, law)(*arguments)
    suite.broken = True
    # pytest.raises inside a law fails with an exception that is no AssertionError of ours.
    with pytest.raises((AssertionError, RuntimeError, ValueError, TypeError, pytest.fail.Exception)):
        getattr(suite, law)(*arguments)


def test_a_symmetry_that_is_not_there_is_caught() -> None:
    class Suite(MetricLaws):
        invariances = ("congruence",)

        def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
            return BuresWasserstein()

    with pytest.raises(AssertionError, match="congruence: distance: relative error"):
        Suite().test_declared_invariances()
