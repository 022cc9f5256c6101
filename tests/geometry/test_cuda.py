"""Every operator of every metric on a GPU: the numbers of the CPU, forward and backward."""

from __future__ import annotations

import pytest
import torch
from metric_suites import (
    AffineInvariantLaws,
    BuresWassersteinLaws,
    GeneralizedLaws,
    LogCholeskyLaws,
    LogEuclideanLaws,
)

from spdnorm.geometry import GeneralizedBuresWasserstein, Metric, PowerDeformed
from spdnorm.testing import MetricSuite
from spdnorm.testing.laws import OPERATORS, Draw

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

SUITES = {
    "aim": AffineInvariantLaws,
    "lem": LogEuclideanLaws,
    "lcm": LogCholeskyLaws,
    "bwm": BuresWassersteinLaws,
    "gbwm": GeneralizedLaws,
}


def evaluate(suite: MetricSuite, metric: Metric, data: Draw, name: str) -> list[torch.Tensor]:
    function, arguments = suite.operators(metric)[name]
    inputs = [getattr(data, a).clone().requires_grad_() for a in arguments]
    result = function(*inputs)
    return [result, *torch.autograd.grad(result.square().sum(), inputs)]


@pytest.mark.parametrize("n", [4, 40])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-8), (torch.float32, 1e-3)])
@pytest.mark.parametrize("theta", [1.0, 0.5])
@pytest.mark.parametrize("name", SUITES)
def test_equals_the_cpu(name: str, theta: float, dtype: torch.dtype, tolerance: float, n: int) -> None:
    suite = SUITES[name]()
    data = suite.draw(3, n=n, dtype=dtype)
    moved = Draw(*(a.cuda() for a in (data.x, data.y, data.u, data.v, data.xs)))
    here = there = suite.make_small_metric(n, dtype)
    if isinstance(here, GeneralizedBuresWasserstein):
        there = GeneralizedBuresWasserstein(here.metric_matrix.cuda(), base=here.base)
    if theta != 1:
        here, there = PowerDeformed(here, theta), PowerDeformed(there, theta)
    for operator in OPERATORS:
        on_gpu = evaluate(suite, there, moved, operator)
        for ours, expected in zip(on_gpu, evaluate(suite, here, data, operator), strict=True):
            assert ours.is_cuda
            gap = float((ours.cpu() - expected).detach().abs().max())
            assert gap <= tolerance * float(expected.detach().abs().max()), operator
