"""The propositions of the paper, and the slips in its text, as numbers.

Slips that are tested for: the root in the distance of Tab. (opera) belongs inside the trace; Prop. 3.1 holds with
|s|, and only inside the domain of Exp; the limit of Prop. 3.2 is the one of its proof's first line, with L_M outside
log_*; the isometry of Thm. 3.4 out of BW is f(Y) = (M^1/2 Y M^1/2)^(1/theta), not phi_theta after phi.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spdnorm.geometry import (
    AffineInvariant,
    BuresWasserstein,
    GeneralizedBuresWasserstein,
    LogEuclidean,
    PowerDeformed,
)
from spdnorm.linalg import (
    LOG,
    congruence,
    derivative,
    eye_like,
    frobenius,
    lyapunov,
    powm,
    sqrtm,
    symmetrize,
    trace,
)
from spdnorm.testing import spd_matrices, tangents

BW = BuresWasserstein()


def relative(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / b.norm())


def scaled(x: Tensor, s: float) -> Tensor:
    """psi_s(X) = Exp_I(s Log_I X)."""
    identity = eye_like(x)
    return BW.exp(identity, s * BW.log(identity, x))


@pytest.mark.parametrize("s", [0.3, 1.0, 1.7, -0.5])
def test_prop_3_1_variance_control(s: float) -> None:
    """d(psi_s(X), I) = |s| d(X, I) while s Log_I X lies in the domain of Exp; the paper leaves out both."""
    x = spd_matrices(4, 6, condition=1.5)
    identity = eye_like(x)
    assert BW.in_domain(identity, s * BW.log(identity, x)).all()
    assert relative(BW.distance(scaled(x, s), identity), abs(s) * BW.distance(x, identity)) < 1e-12
    # Hence the variance about I scales with s^2.
    assert relative(BW.variance(scaled(x, s), identity), s**2 * BW.variance(x, identity)) < 1e-12


def test_prop_3_1_fails_outside_the_domain() -> None:
    """Where I + s (X^1/2 - I) is not positive definite the point folds over, and is nearer than the law says."""
    x = torch.diag(torch.tensor([0.04, 1.0], dtype=torch.float64))
    identity = eye_like(x)
    assert not BW.in_domain(identity, 3.0 * BW.log(identity, x))
    reached = scaled(x, 3.0)
    # I + 3 (0.2 - 1) = -1.4: it folds to 1.4.
    assert relative(reached, torch.diag(torch.tensor([1.96, 1.0], dtype=torch.float64))) < 1e-14
    assert float(BW.distance(reached, identity)) < 0.5 * 3.0 * float(BW.distance(x, identity))


def test_distance_formula() -> None:
    """tr X + tr Y - 2 tr((X^1/2 Y X^1/2)^1/2), and not 2 (tr X^1/2 Y X^1/2)^1/2 as Tab. (opera) prints it."""
    x, y = spd_matrices(4, 2, condition=10.0)
    product = congruence(sqrtm(x), y)
    right = trace(x) + trace(y) - 2 * trace(sqrtm(product))
    printed = trace(x) + trace(y) - 2 * trace(product).sqrt()
    assert relative(BW.squared_distance(x, y), right) < 1e-12
    assert relative(BW.squared_distance(x, y), printed) > 0.1


def limit_inner(x: Tensor, m: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """<L_M(log_* U), log_* V> / 2."""
    return 0.5 * frobenius(lyapunov(m, derivative(x, LOG, u)), derivative(x, LOG, v))


def test_prop_3_2_limit() -> None:
    """As theta -> 0, (theta)-GBW tends to <L_M(log_* U), log_* V> / 2, linearly in theta."""
    x, m, u = spd_matrices(4, condition=5.0), spd_matrices(4, condition=5.0, seed=3), tangents(4)
    limit = limit_inner(x, m, u, u)
    gbw = GeneralizedBuresWasserstein(m)
    errors = [relative(PowerDeformed(gbw, t).inner(x, u, u), limit) for t in (1e-2, 1e-3, 1e-4, -1e-4)]
    assert errors[0] < 0.1
    assert errors[1] < 0.2 * errors[0]
    assert errors[2] < 0.2 * errors[1] < 1e-3
    assert errors[3] < 1e-3
    # The last line of the proof moves L_M inside log_*: another number, unless M commutes with X.
    other = 0.5 * frobenius(derivative(x, LOG, lyapunov(m, u)), derivative(x, LOG, u))
    assert relative(other, limit) > 1e-2


def test_limits_of_aim_and_bw() -> None:
    """theta -> 0: AIM becomes log-Euclidean, BW a quarter of it: theta away, until rounding / theta takes over."""
    xs, u = spd_matrices(4, 2, condition=5.0), tangents(4)
    x, y = xs
    lem = LogEuclidean()
    for base, factor in ((AffineInvariant(), 1.0), (BW, 0.25)):
        for theta, tolerance in ((1e-3, 2e-3), (1e-5, 2e-5), (-1e-5, 2e-5), (1e-7, 1e-6)):
            metric = PowerDeformed(base, theta)
            assert relative(metric.inner(x, u, u), factor * lem.inner(x, u, u)) < tolerance
            assert relative(metric.squared_distance(x, y), factor * lem.squared_distance(x, y)) < tolerance
            assert relative(metric.geodesic(x, y, 0.4), lem.geodesic(x, y, 0.4)) < tolerance
            assert relative(metric.mean(spd_matrices(4, 5)), lem.mean(spd_matrices(4, 5))) < tolerance


@pytest.mark.parametrize("theta", [1.0, 0.5, 0.25, -0.5])
def test_prop_3_3_local_aim(theta: float) -> None:
    """With M = X^theta, (theta)-GBW is a quarter of (theta)-AIM at X."""
    x, u, v = spd_matrices(4, condition=20.0), tangents(4), tangents(4, seed=1)
    gbw = PowerDeformed(GeneralizedBuresWasserstein(powm(x, theta)), theta)
    aim = PowerDeformed(AffineInvariant(), theta)
    assert relative(gbw.inner(x, u, v), 0.25 * aim.inner(x, u, v)) < 1e-11


def test_deformation_of_the_affine_invariant_metric_keeps_its_geodesics_through_commuting_points() -> None:
    x, y = (torch.diag(torch.tensor(d, dtype=torch.float64)) for d in ([1.0, 2.0, 5.0], [3.0, 0.5, 1.0]))
    deformed = PowerDeformed(AffineInvariant(), 0.5)
    assert relative(deformed.geodesic(x, y, 0.3), AffineInvariant().geodesic(x, y, 0.3)) < 1e-12
    assert relative(deformed.distance(x, y), AffineInvariant().distance(x, y)) < 1e-12


class TestTheorem34:
    """Thm. 3.4: f(Y) = (M^1/2 Y M^1/2)^(1/theta) carries BW to theta^2 times (theta)-GBW, operator by operator.

    The right-hand sides are written out here from powers, congruences and a numerical differential, not with
    the library's charts.
    """

    theta = 0.5
    m = spd_matrices(4, condition=5.0, seed=3)
    points = spd_matrices(4, 6, condition=10.0, seed=4)
    x, y = points[0], points[1]
    u, v = 0.1 * tangents(4), 0.1 * tangents(4, seed=1)

    @property
    def metric(self) -> PowerDeformed:
        return PowerDeformed(GeneralizedBuresWasserstein(self.m), self.theta)

    def f(self, y: Tensor) -> Tensor:
        return powm(congruence(sqrtm(self.m), y), 1 / self.theta)

    def f_inverse(self, x: Tensor) -> Tensor:
        return congruence(torch.linalg.inv(sqrtm(self.m)), powm(x, self.theta))

    def push(self, x: Tensor, u: Tensor) -> Tensor:
        (_, moved) = torch.func.vjp(lambda w: torch.func.vjp(self.f_inverse, x)[1](w)[0], eye_like(x))
        return symmetrize(moved(u)[0])

    def pull(self, y: Tensor, v: Tensor) -> Tensor:
        (_, moved) = torch.func.vjp(lambda w: torch.func.vjp(self.f, y)[1](w)[0], eye_like(y))
        return symmetrize(moved(v)[0])

    def test_f_and_its_differential(self) -> None:
        assert relative(self.f(self.f_inverse(self.x)), self.x) < 1e-13
        step = 1e-4
        central = (self.f_inverse(self.x + step * self.u) - self.f_inverse(self.x - step * self.u)) / (2 * step)
        assert relative(self.push(self.x, self.u), central) < 1e-8
        # phi_theta after the congruence, as the theorem names it, is another map.
        assert relative(powm(congruence(sqrtm(self.m), self.y), self.theta), self.f(self.y)) > 0.1

    def test_inner(self) -> None:
        expected = BW.inner(self.f_inverse(self.x), self.push(self.x, self.u), self.push(self.x, self.v))
        assert relative(self.theta**2 * self.metric.inner(self.x, self.u, self.v), expected) < 1e-11

    def test_exp(self) -> None:
        expected = self.f(BW.exp(self.f_inverse(self.x), self.push(self.x, self.u)))
        assert relative(self.metric.exp(self.x, self.u), expected) < 1e-11

    def test_log(self) -> None:
        at = self.f_inverse(self.x)
        expected = self.pull(at, BW.log(at, self.f_inverse(self.y)))
        assert relative(self.metric.log(self.x, self.y), expected) < 1e-11

    def test_transport(self) -> None:
        start, end = self.f_inverse(self.x), self.f_inverse(self.y)
        expected = self.pull(end, BW.transport(start, end, self.push(self.x, self.u)))
        assert relative(self.metric.transport(self.x, self.y, self.u), expected) < 1e-11

    def test_distance_geodesic_mean_variance(self) -> None:
        start, end, moved = self.f_inverse(self.x), self.f_inverse(self.y), self.f_inverse(self.points)
        assert relative(abs(self.theta) * self.metric.distance(self.x, self.y), BW.distance(start, end)) < 1e-12
        assert relative(self.metric.geodesic(self.x, self.y, 0.3), self.f(BW.geodesic(start, end, 0.3))) < 1e-11
        assert relative(self.metric.mean(self.points), self.f(BW.mean(moved))) < 1e-11
        assert relative(self.theta**2 * self.metric.variance(self.points), BW.variance(moved)) < 1e-11


class TestTheorem34AtANegativePower(TestTheorem34):
    theta = -0.5


class TestTheorem34AboveOne(TestTheorem34):
    theta = 1.5
