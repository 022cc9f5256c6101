"""Metrics by name, and the messages of everything that can be asked for wrongly."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from spdnorm import geometry
from spdnorm.geometry import GeneralizedBuresWasserstein, LogEuclidean, PowerDeformed, get, names, random_spd, register
from spdnorm.testing import spd_matrices

M = spd_matrices(3, seed=1)


def test_names() -> None:
    assert {"aim", "lem", "lcm", "bwm", "gbwm"} <= set(names())
    x, y = spd_matrices(3, 2)
    for name in ("aim", "lem", "lcm", "bwm"):
        for theta in (1.0, 0.5):
            metric = get(name, theta=theta)
            assert isinstance(metric, PowerDeformed) == (theta != 1)
            assert float(metric.distance(x, y)) > 0
    assert isinstance(get("gbwm", metric_matrix=M), GeneralizedBuresWasserstein)
    metric = get("lem", alpha=2.0, beta=0.1)
    assert isinstance(metric, LogEuclidean)
    assert repr(metric) == "LogEuclidean(alpha=2, beta=0.1)"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: get("bures"), ValueError, r"unknown metric 'bures': choose one of aim, bwm, gbwm, lcm, lem"),
        (lambda: get("gbwm"), TypeError, r"metric 'gbwm' cannot take these options: .*metric_matrix"),
        (lambda: get("lcm", alpha=2.0), TypeError, "metric 'lcm' cannot take these options: .*alpha"),
        (lambda: register("aim", LogEuclidean), ValueError, "metric 'aim' is registered already"),
        (lambda: get("aim", theta=0.0), ValueError, r"`theta` must be finite and not 0, got 0.*LogEuclidean\(\)"),
        (lambda: get("aim", theta=float("nan")), ValueError, "`theta` must be finite"),
        (lambda: get("aim", alpha=-1.0), ValueError, "`alpha` must be positive"),
        (
            lambda: get("aim", beta=-0.4).norm(M, M),
            ValueError,
            r"`beta` must be above -alpha / n = -0\.333333 for 3 x 3",
        ),
        (lambda: get("lem", beta=-0.4).distance(M, M), ValueError, "`beta` must be above"),
        (lambda: get("bwm", transport_method="fast"), ValueError, "`transport_method` must be"),
        (lambda: get("bwm", transport_steps=0), ValueError, "`transport_steps` must be 1 or more, got 0"),
        (lambda: get("gbwm", metric_matrix=-M), ValueError, "`metric_matrix` must be positive definite"),
        (lambda: get("gbwm", metric_matrix=M[:2]), ValueError, "`metric_matrix` must have shape"),
        (lambda: random_spd(3, condition=0.5), ValueError, "`condition` must be 1 or more"),
    ],
)
def test_refusals(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_metric_matrix_broadcasts_and_takes_gradients() -> None:
    matrices = spd_matrices(3, 2, 1, seed=4).requires_grad_()
    x, y = spd_matrices(3, 5), spd_matrices(3, 5, seed=9)
    distances = GeneralizedBuresWasserstein(matrices).distance(x, y)
    assert distances.shape == (2, 5)
    one = GeneralizedBuresWasserstein(matrices[1, 0]).distance(x[3], y[3])
    torch.testing.assert_close(distances[1, 3], one)
    (gradient,) = torch.autograd.grad(distances.sum(), matrices)
    assert gradient.shape == matrices.shape
    assert float(gradient.abs().min()) > 0


def test_random_matrices() -> None:
    """Random points repeat with their generator and follow the dtype that is asked for."""

    def generator() -> torch.Generator:
        return torch.Generator().manual_seed(3)

    a, b = (random_spd(4, 2, 3, generator=generator(), dtype=torch.float32) for _ in range(2))
    assert torch.equal(a, b)
    assert a.shape == (2, 3, 4, 4)
    assert a.dtype == torch.float32
    u = geometry.random_symmetric((2, 4, 4), generator=generator())
    assert torch.equal(u, u.mT)
