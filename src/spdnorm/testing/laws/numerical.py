"""Laws on derivatives and on hard matrices: ties, condition numbers, the boundary."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from spdnorm.geometry import Metric
from spdnorm.linalg import congruence, unvec, vec
from spdnorm.testing.laws.suite import OPERATORS, Draw, MetricSuite, assert_relative
from spdnorm.testing.matrices import Kind, spd_matrices
from spdnorm.testing.needs_pytest import pytest


class DerivativeLaws(MetricSuite):
    """First and second derivatives of every operator against finite differences."""

    def _function(self, metric: Metric, data: Draw, name: str) -> tuple[Callable[..., Tensor], list[Tensor]]:
        # Symmetric matrices are perturbed within the symmetric ones, hence by their half-vectors.
        function, arguments = self.operators(metric)[name]
        inputs = [vec(getattr(data, a)).clone().requires_grad_() for a in arguments]
        return (lambda *vectors: function(*(unvec(v) for v in vectors))), inputs

    @pytest.mark.parametrize("kind", ["generic", "ties"])
    @pytest.mark.parametrize("name", OPERATORS)
    def test_gradcheck(self, name: str, kind: Kind) -> None:
        """First derivatives, at distinct and at equal eigenvalues."""
        function, inputs = self._function(self.make_small_metric(self.n), self.draw(kind=kind), name)
        assert torch.autograd.gradcheck(function, inputs, eps=1e-6, atol=1e-6, rtol=1e-5, fast_mode=True)

    @pytest.mark.parametrize("kind", ["generic", "ties"])
    @pytest.mark.parametrize("name", OPERATORS)
    def test_gradgradcheck(self, name: str, kind: Kind) -> None:
        """Second derivatives, at distinct and at equal eigenvalues."""
        function, inputs = self._function(self.make_small_metric(self.n), self.draw(kind=kind), name)
        assert torch.autograd.gradgradcheck(function, inputs, eps=1e-6, atol=1e-5, rtol=1e-4, fast_mode=True)

    def test_gradcheck_of_converged_mean(self) -> None:
        """The derivative of the mean itself, through its iteration."""
        metric, d = self.make_metric(self.n), self.draw(condition=4.0)
        xs = vec(d.xs).clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda v: metric.mean(unvec(v)), (xs,), atol=1e-6, rtol=1e-5, fast_mode=True)


class HardLaws(MetricSuite):
    """Ties, near-ties, condition numbers, the boundary."""

    def _all_finite(self, metric: Metric, data: Draw) -> None:
        for name, (function, arguments) in self.operators(metric).items():
            inputs = [getattr(data, a).clone().requires_grad_() for a in arguments]
            result = function(*inputs)
            assert torch.isfinite(result).all(), f"{name} is not finite"
            for argument, grad in zip(arguments, torch.autograd.grad(result.sum(), inputs), strict=True):
                assert torch.isfinite(grad).all(), f"the gradient of {name} in {argument} is not finite"

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize("kind", ["ties", "near_ties", "identity", "diagonal"])
    def test_ties(self, kind: Kind, dtype: torch.dtype) -> None:
        """Equal and nearly equal eigenvalues leave everything finite, and exp and log inverse."""
        metric, d = self.make_small_metric(4, dtype), self.draw(3, n=4, kind=kind, dtype=dtype)
        self._all_finite(metric, d)
        tolerance = self.tolerance if dtype == torch.float64 else self.tolerance_float32
        assert_relative(metric.exp(d.x, metric.log(d.x, d.y)), d.y, 10 * tolerance, f"{kind}: exp(x, log(x, y))")

    @pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8, 1e10])
    def test_condition_numbers(self, condition: float) -> None:
        """Finite forward and backward; exp, log and geodesic inverse to the digits that the condition leaves."""
        if condition > self.condition_limit:
            pytest.skip(f"this metric is asked for condition numbers to {self.condition_limit:g}")
        metric, d = self.make_small_metric(4), self.draw(3, n=4, condition=condition)
        self._all_finite(metric, d)
        allowed = self.allowed(condition)
        assert_relative(metric.exp(d.x, metric.log(d.x, d.y)), d.y, allowed, "exp(x, log(x, y))")
        assert_relative(metric.geodesic(d.x, d.y, 1.0), d.y, allowed, "geodesic at 1")
        back, there = metric.distance(d.y, d.x), metric.distance(d.x, d.y)
        assert_relative(back, there, allowed, "symmetry of the distance")

    def test_boundary(self) -> None:
        """On singular matrices where the metric allows them; a clear error where it does not."""
        metric, d = self.make_small_metric(4), self.draw(n=4, kind="boundary")
        if not metric.allows_singular:
            # Diagonal, so that the zero is exact and rounding cannot hide it.
            with pytest.raises(ValueError, match="positive definite"):
                metric.log(torch.diag(torch.tensor([0.0, 1.0, 2.0, 3.0], dtype=torch.float64)), d.y)
            return
        inside = self.draw(n=4)
        for x, y in ((d.x, d.y), (d.x, inside.y), (inside.x, d.y)):
            a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
            distance, middle = metric.distance(a, b), metric.geodesic(a, b, 0.5)
            grads = torch.autograd.grad(distance + middle.sum() + metric.log(a, b).sum(), (a, b))
            assert all(torch.isfinite(g).all() for g in (distance, middle, *grads))
            nudge = 1e-10 * torch.eye(4, dtype=x.dtype)
            near = metric.distance(x + nudge, y + nudge)
            assert_relative(distance.detach(), near, self.boundary_tolerance, "distance against just inside")
            half = metric.distance(x, middle.detach())
            assert_relative(2 * half, distance.detach(), self.face_tolerance, "the midpoint lies half-way")
        there_and_back = metric.exp(inside.x, metric.log(inside.x, d.y))
        assert_relative(there_and_back, d.y, self.face_tolerance, "exp(x, log(x, y)), y singular")

    def test_face(self) -> None:
        """Matrices that share a null space behave as the smaller matrices that they are."""
        full = self.make_metric(4)
        if not full.allows_singular or not self.face_is_smaller_metric:
            pytest.skip("the metric has no faces of its own kind")
        small, d = self.make_metric(3), self.draw(n=3)
        frame = torch.linalg.qr(spd_matrices(4, seed=9)).Q[:, :3]

        def embed(m: Tensor) -> Tensor:
            return congruence(frame, m)

        x, y, xs = embed(d.x), embed(d.y), embed(d.xs)
        u, tolerance = embed(d.u), self.face_tolerance
        assert_relative(full.distance(x, y), small.distance(d.x, d.y), tolerance, "distance in a face")
        assert_relative(full.inner(x, u, u), small.inner(d.x, d.u, d.u), tolerance, "inner product in a face")
        for what, there, here in (
            ("exp", full.exp(x, u), small.exp(d.x, d.u)),
            ("log", full.log(x, y), small.log(d.x, d.y)),
            ("geodesic", full.geodesic(x, y, 0.3), small.geodesic(d.x, d.y, 0.3)),
            ("mean", full.mean(xs), small.mean(d.xs)),
            ("two mean steps", full.mean(xs, iterations=2), small.mean(d.xs, iterations=2)),
        ):
            assert_relative(there, embed(here), tolerance, f"{what} in a face")
        transported = embed(small.transport(d.x, d.y, d.u))
        allowed = max(tolerance, self.face_transport_tolerance)
        assert_relative(full.transport(x, y, u), transported, allowed, "transport in a face")

    #: By how much a distance may change when boundary points are moved inside by 1e-10.
    boundary_tolerance: float = 1e-3

    #: Relative error that rounding may cause on the boundary, where it fills the null space with eigenvalues of size
    #: eps: a metric that takes the power theta of the points sees eps^theta.
    face_tolerance: float = 1e-6

    #: The same for parallel transport, where it is integrated over what rounding has put there.
    face_transport_tolerance: float = 0.0

    #: Whether a face of the cone carries the same metric of a smaller size (not so where a parameter breaks it).
    face_is_smaller_metric: bool = True
