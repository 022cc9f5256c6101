"""Geometries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import torch

from spdnorm import geometry
from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import finite, spd, symmetric
from spdnorm.testing.fuzz.targets.common import Target, gradients, spd_parameter

METRIC_CONDITION = 1e4

METRICS: dict[str, Callable[[random.Random, Case], geometry.Metric]] = {
    "aim": lambda rng, case: geometry.AffineInvariant(),
    "lem": lambda rng, case: geometry.LogEuclidean(),
    "lcm": lambda rng, case: geometry.LogCholesky(),
    "bwm": lambda rng, case: geometry.BuresWasserstein(),
    "gbwm": lambda rng, case: geometry.GeneralizedBuresWasserstein(
        spd_parameter(rng, case.n, METRIC_CONDITION, torch.empty(0, dtype=case.dtype))
    ),
    "aim-power": lambda rng, case: geometry.PowerDeformed(geometry.AffineInvariant(), 0.5),
    "bwm-power": lambda rng, case: geometry.PowerDeformed(geometry.BuresWasserstein(), 0.5),
}


def metric(name: str) -> Target:
    """A geometry's operators on pairs of points."""

    def run(case: Case) -> Iterator[str]:
        space = METRICS[name](case.rng, case)
        x, y = matrices(case).requires_grad_(), matrices(case, stream=1)
        distance = space.squared_distance(x, y)
        yield from finite("squared distance", distance.detach())
        if bool((distance.detach() < 0).any()):
            yield f"squared distance {distance.min().item():.1e} is negative"
        middle = space.geodesic(x, y, 0.3)
        # A metric parameter's condition number multiplies the rounding of products with its roots.
        slack = METRIC_CONDITION if name == "gbwm" else 1.0
        yield from spd("geodesic", middle.detach(), slack)
        yield from gradients(middle, x, None)
        with torch.no_grad():
            log = space.log(x, y)
            yield from finite("log", log)
            # A difference of terms as large as the points.
            yield from symmetric("log", log, size=x.abs().amax((-2, -1)))
            yield from spd("exp of 0", space.exp(x, torch.zeros_like(x)), slack)
            yield from spd("mean", space.mean(x, iterations=1), slack)
            yield from finite("variance", space.variance(x, space.mean(x, iterations=1)))
            if case.definite:
                yield from finite("inner product", space.inner(x, log, log))
                moved = space.transport(x, y, log)
                yield from finite("transport", moved)
                yield from symmetric("transport", moved, size=y.abs().amax((-2, -1)))

    return run
