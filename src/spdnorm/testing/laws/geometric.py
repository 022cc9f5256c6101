"""Laws of Riemannian geometry: maps, geodesics, distances, transport, symmetries."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import symmetrize
from spdnorm.testing.laws.suite import MetricSuite, assert_relative
from spdnorm.testing.needs_pytest import pytest


class MapLaws(MetricSuite):
    """Exponential, logarithm, inner product."""

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_exp_undoes_log(self, n: int) -> None:
        """Exp_x(Log_x(y)) = y."""
        metric, d = self.make_metric(n), self.draw(4, n=n)
        assert_relative(metric.exp(d.x, metric.log(d.x, d.y)), d.y, self.tolerance, "exp(x, log(x, y)) against y")

    @pytest.mark.parametrize("n", [1, 2, 5])
    def test_log_undoes_exp(self, n: int) -> None:
        """Log_x(Exp_x(u)) = u within the domain."""
        metric, d = self.make_metric(n), self.draw(4, n=n)
        assert metric.in_domain(d.x, d.u).all(), "the drawn tangent vectors leave the domain: choose a smaller radius"
        assert_relative(metric.log(d.x, metric.exp(d.x, d.u)), d.u, 10 * self.tolerance, "log(x, exp(x, u)) against u")

    def test_log_lies_in_domain(self) -> None:
        """A logarithm is a tangent vector that ``exp`` may be given."""
        metric, d = self.make_metric(self.n), self.draw(4)
        inside = metric.in_domain(d.x, metric.log(d.x, d.y))
        assert inside.dtype == torch.bool
        assert inside.shape == (4,)
        assert inside.all()

    def test_staying_put(self) -> None:
        """Log_x(x) = 0 and Exp_x(0) = x."""
        metric, d = self.make_metric(self.n), self.draw(4)
        size = torch.linalg.matrix_norm(d.x)
        assert_relative(metric.log(d.x, d.x), torch.zeros_like(d.x), self.tolerance, "log(x, x) against 0", scale=size)
        assert_relative(metric.exp(d.x, 0 * d.x), d.x, self.tolerance, "exp(x, 0) against x")

    def test_inner_product(self) -> None:
        """Symmetric, bilinear, positive; the norm is its root."""
        metric, d = self.make_metric(self.n), self.draw(4)
        uv = metric.inner(d.x, d.u, d.v)
        scale = metric.norm(d.x, d.u) * metric.norm(d.x, d.v)
        assert_relative(metric.inner(d.x, d.v, d.u), uv, self.tolerance, "inner(v, u) against inner(u, v)", scale=scale)
        mixed = metric.inner(d.x, 2 * d.u - d.v, d.v)
        expected = 2 * uv - metric.inner(d.x, d.v, d.v)
        assert_relative(mixed, expected, 10 * self.tolerance, "linearity of inner", scale=scale)
        assert (metric.inner(d.x, d.u, d.u) > 0).all()
        assert_relative(metric.norm(d.x, d.u).square(), metric.inner(d.x, d.u, d.u), self.tolerance, "norm^2")

    def test_random_points_and_tangents(self) -> None:
        """Random points have the asked condition number, random tangent vectors unit length."""
        metric = self.make_metric(self.n)
        x = metric.random_point(self.n, 6, condition=50.0, generator=torch.Generator().manual_seed(0))
        values = torch.linalg.eigvalsh(x)
        assert_relative(values[:, -1] / values[:, 0], torch.full((6,), 50.0), 1e-10, "condition number")
        u = metric.random_tangent(x, generator=torch.Generator().manual_seed(1))
        assert_relative(metric.norm(x, u), torch.ones(6), 1e-10, "length of a random tangent vector")


class DistanceLaws(MetricSuite):
    """Distances and geodesics."""

    def test_distance_is_length_of_log(self) -> None:
        """d(x, y) = |Log_x(y)|_x and squared_distance is its square."""
        metric, d = self.make_metric(self.n), self.draw(6)
        distance = metric.distance(d.x, d.y)
        assert_relative(metric.norm(d.x, metric.log(d.x, d.y)), distance, 10 * self.tolerance, "|log| against distance")
        assert_relative(metric.squared_distance(d.x, d.y), distance.square(), self.tolerance, "squared distance")

    def test_symmetry_and_triangle(self) -> None:
        """d(x, y) = d(y, x) > 0 and d(x, z) <= d(x, y) + d(y, z)."""
        metric, d = self.make_metric(self.n), self.draw(20)
        z = d.xs[:, 2]
        xy, yz, xz = metric.distance(d.x, d.y), metric.distance(d.y, z), metric.distance(d.x, z)
        assert_relative(metric.distance(d.y, d.x), xy, self.tolerance, "d(y, x) against d(x, y)")
        assert (xy > 0).all()
        assert (xz <= (xy + yz) * (1 + self.tolerance)).all()

    def test_zero_at_coincidence(self) -> None:
        """d(x, x) = 0 up to rounding, and finitely differentiable there."""
        metric, d = self.make_metric(self.n), self.draw(4)
        x, y = d.x.clone().requires_grad_(), d.x.clone().requires_grad_()
        distance = metric.distance(x, y)
        size = metric.distance(d.x, d.y)
        assert_relative(distance.detach(), torch.zeros(4), 1e-12, "d(x, x)", scale=size)
        for grad in torch.autograd.grad(distance.sum() + metric.squared_distance(x, y).sum(), (x, y)):
            assert torch.isfinite(grad).all(), "the gradient of the distance at coinciding points is not finite"

    def test_small_steps(self) -> None:
        """d(x, Exp_x(h u)) = h |u|_x, however small h is: nearby points do not cancel."""
        metric, d = self.make_metric(self.n), self.draw(4)
        for h in (1e-3, 1e-6, 1e-9):
            # The moved point is rounded to eps |x|, that is eps / h of the step.
            allowed = 10 * self.tolerance + 1000 * torch.finfo(torch.float64).eps / h
            moved = metric.distance(d.x, metric.exp(d.x, h * d.u))
            assert_relative(moved, h * metric.norm(d.x, d.u), allowed, f"distance over a step of {h:g}")

    def test_geodesic(self) -> None:
        """Ends, constant speed, reversal, and agreement with ``exp``."""
        metric, d = self.make_metric(self.n), self.draw(4)
        tolerance = 10 * self.tolerance
        assert_relative(metric.geodesic(d.x, d.y, 0.0), d.x, tolerance, "geodesic at 0 against x")
        assert_relative(metric.geodesic(d.x, d.y, 1.0), d.y, tolerance, "geodesic at 1 against y")
        t = torch.tensor([0.0, 0.2, 0.7, 1.0], dtype=torch.float64)
        points = metric.geodesic(d.x.unsqueeze(1), d.y.unsqueeze(1), t)
        pairwise = metric.distance(points.unsqueeze(1), points.unsqueeze(2))
        length = metric.distance(d.x, d.y)[:, None, None]
        expected = (t[:, None] - t[None, :]).abs() * length
        assert_relative(pairwise.flatten(), expected.flatten(), tolerance, "constant speed", scale=length.max())
        by_exp = metric.exp(d.x, 0.2 * metric.log(d.x, d.y))
        assert_relative(points[:, 1], by_exp, tolerance, "geodesic against exp(x, t log(x, y))")
        assert_relative(metric.geodesic(d.y, d.x, 0.8), points[:, 1], tolerance, "the geodesic walked from y")

    def test_gradient_of_squared_distance(self) -> None:
        """d/dx of d(x, y)^2 / 2 in direction v is -<Log_x(y), v>_x."""
        metric, d = self.make_metric(self.n), self.draw(4)
        x = d.x.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(0.5 * metric.squared_distance(x, d.y).sum(), x)
        slope = (symmetrize(gradient) * d.v).sum((-2, -1))
        log = metric.log(d.x, d.y)
        scale = metric.norm(d.x, log) * metric.norm(d.x, d.v)
        assert_relative(slope, -metric.inner(d.x, log, d.v), 100 * self.tolerance, "first variation", scale=scale)


class TransportLaws(MetricSuite):
    """Parallel transport along the geodesic."""

    def _transported(self) -> tuple[Tensor, Tensor]:
        metric, d = self.make_metric(self.n), self.draw(4)
        return metric.transport(d.x, d.y, d.u), metric.transport(d.x, d.y, d.v)

    def test_isometry(self) -> None:
        """<PT u, PT v>_y = <u, v>_x."""
        metric, d = self.make_metric(self.n), self.draw(4)
        pu, pv = self._transported()
        scale = metric.norm(d.x, d.u) * metric.norm(d.x, d.v)
        before, after = metric.inner(d.x, d.u, d.v), metric.inner(d.y, pu, pv)
        assert_relative(after, before, self.transport_tolerance, "inner product after transport", scale=scale)
        assert_relative(metric.norm(d.y, pu), metric.norm(d.x, d.u), self.transport_tolerance, "length after transport")

    def test_linear_and_symmetric(self) -> None:
        """PT (2 u - v) = 2 PT u - PT v, a symmetric matrix."""
        metric, d = self.make_metric(self.n), self.draw(4)
        pu, pv = self._transported()
        mixed = metric.transport(d.x, d.y, 2 * d.u - d.v)
        assert_relative(mixed, 2 * pu - pv, 10 * self.tolerance, "linearity of transport")
        assert_relative(pu.mT, pu, 1e-14, "symmetry of the transported vector")

    def test_velocity_and_return(self) -> None:
        """The geodesic's velocity stays tangent to it; there and back is the identity; so is staying put."""
        metric, d = self.make_metric(self.n), self.draw(4)
        pu, _ = self._transported()
        velocity = metric.transport(d.x, d.y, metric.log(d.x, d.y))
        tolerance = 10 * self.transport_tolerance
        assert_relative(velocity, -metric.log(d.y, d.x), tolerance, "transported velocity against -log(y, x)")
        assert_relative(metric.transport(d.y, d.x, pu), d.u, tolerance, "there and back")
        assert_relative(metric.transport(d.x, d.x, d.u), d.u, tolerance, "transport from x to x")


class InvarianceLaws(MetricSuite):
    """The symmetries that the suite declares."""

    def test_declared_invariances(self) -> None:
        """Distance, log, exp, transport and mean follow every declared symmetry."""
        metric, d = self.make_metric(self.n), self.draw(4)
        unknown = set(self.invariances) - {"orthogonal", "scaling", "inversion", "congruence"}
        assert not unknown, f"unknown invariances {sorted(unknown)}"
        for name in self.invariances:
            if name == "inversion":
                flipped = metric.distance(torch.linalg.inv(d.x), torch.linalg.inv(d.y))
                assert_relative(flipped, metric.distance(d.x, d.y), 100 * self.tolerance, "distance of the inverses")
                continue
            g = torch.Generator().manual_seed(5)
            a = torch.randn(self.n, self.n, generator=g, dtype=torch.float64) + 2 * torch.eye(self.n).double()
            if name == "orthogonal":
                a = torch.linalg.qr(a).Q
            elif name == "scaling":
                a = 3.0 * torch.eye(self.n, dtype=torch.float64)
            self._check_congruence(name, a)

    def _check_congruence(self, name: str, a: Tensor) -> None:
        metric, d = self.make_metric(self.n), self.draw(4)

        def move(m: Tensor) -> Tensor:
            return symmetrize(a @ m @ a.mT)

        x, y, u, tolerance = move(d.x), move(d.y), move(d.u), 1000 * self.tolerance
        assert_relative(metric.distance(x, y), metric.distance(d.x, d.y), tolerance, f"{name}: distance")
        assert_relative(metric.log(x, y), move(metric.log(d.x, d.y)), tolerance, f"{name}: log")
        assert_relative(metric.exp(x, u), move(metric.exp(d.x, d.u)), tolerance, f"{name}: exp")
        transported = move(metric.transport(d.x, d.y, d.u))
        allowed = max(tolerance, 10 * self.transport_tolerance)
        assert_relative(metric.transport(x, y, u), transported, allowed, f"{name}: transport")
        assert_relative(metric.mean(move(d.xs)), move(metric.mean(d.xs)), tolerance, f"{name}: mean")
