"""Laws on torch's ways: vmap, functional derivatives, compilation, autocast, float32, broadcasting, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from torch import Tensor

from spdnorm.geometry import Metric
from spdnorm.testing.laws.suite import OPERATORS, Draw, MetricSuite, assert_relative
from spdnorm.testing.needs_pytest import pytest


class TransformLaws(MetricSuite):
    """torch.func and torch.compile."""

    @pytest.mark.parametrize("name", OPERATORS)
    def test_vmap(self, name: str) -> None:
        """Mapped over a batch, every operator gives what it gives on the batch."""
        metric, d = self.make_small_metric(self.n), self.draw(3)
        function, arguments = self.operators(metric)[name]
        inputs = [getattr(d, a) for a in arguments]
        mapped = torch.func.vmap(function)(*inputs)
        assert_relative(mapped, function(*inputs), 10 * self.tolerance, f"vmap of {name}")

    def test_functional_derivatives(self) -> None:
        """``vmap(grad)`` and ``jacrev`` agree with autograd."""
        metric, d = self.make_small_metric(self.n), self.draw(3)
        x = d.x.clone().requires_grad_()
        (expected,) = torch.autograd.grad(metric.squared_distance(x, d.y).sum(), x)
        mapped = torch.func.vmap(torch.func.grad(metric.squared_distance))(d.x, d.y)
        assert_relative(mapped, expected, 10 * self.tolerance, "vmap(grad(squared_distance))")
        jacobian = torch.func.jacrev(metric.log, argnums=1)(d.x[0], d.y[0])
        direction = d.u[0]
        y = d.y[0].clone().requires_grad_()
        (pulled,) = torch.autograd.grad((metric.log(d.x[0], y) * direction).sum(), y)
        contracted = torch.einsum("ij,ijkl->kl", direction, jacobian)
        assert_relative(contracted, pulled, 10 * self.tolerance, "jacrev(log)")

    def test_compile(self) -> None:
        """All the operators in one graph without breaks, forward and backward."""
        metric, d = self.make_traced_metric(self.n), self.draw(2)

        def everything(x: Tensor, y: Tensor, u: Tensor, v: Tensor, xs: Tensor) -> list[Tensor]:
            data = Draw(x, y, u, v, xs)
            return [self.evaluate(metric, data, name) for name in OPERATORS]

        def run(function: object) -> tuple[list[Tensor], tuple[Tensor, ...]]:
            inputs = [a.clone().requires_grad_() for a in (d.x, d.y, d.u, d.v, d.xs)]
            results = function(*inputs)  # type: ignore[operator]
            return results, torch.autograd.grad(sum(r.square().sum() for r in results), inputs)

        torch._dynamo.reset()
        eager, eager_grads = run(everything)
        compiled, grads = run(torch.compile(everything, fullgraph=True, backend=self.compile_backend))
        tolerance = max(10 * self.tolerance, 10 * self.transport_tolerance)
        for name, a, b in zip(OPERATORS, compiled, eager, strict=True):
            assert_relative(a.detach(), b.detach(), tolerance, f"compiled {name}")
        for a, b in zip(grads, eager_grads, strict=True):
            assert_relative(a, b, 100 * tolerance, "gradient of the compiled operators")


class PrecisionLaws(MetricSuite):
    """Dtypes."""

    @pytest.mark.parametrize("name", OPERATORS)
    def test_float32(self, name: str) -> None:
        """float32 in, float32 out, near the float64 result."""
        exact = self.evaluate(self.make_small_metric(self.n), self.draw(3), name)
        single = self.draw(3, dtype=torch.float32)
        result = self.evaluate(self.make_small_metric(self.n, torch.float32), single, name)
        assert result.dtype == torch.float32
        assert_relative(result, exact, self.tolerance_float32, f"{name} in float32")

    @pytest.mark.parametrize("name", OPERATORS)
    def test_autocast(self, name: str) -> None:
        """Autocast lowers nothing; half-precision input is raised."""
        metric, d = self.make_small_metric(self.n, torch.float32), self.draw(3, dtype=torch.float32)
        plain = self.evaluate(metric, d, name)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            cast = self.evaluate(metric, d, name)
        assert cast.dtype == torch.float32
        torch.testing.assert_close(cast, plain, rtol=0, atol=0)

    def test_half_input(self) -> None:
        """Under autocast bfloat16 points are raised to float32."""
        metric, d = self.make_small_metric(self.n, torch.float32), self.draw(3, dtype=torch.bfloat16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            result = metric.distance(d.x, d.y)
        assert result.dtype == torch.float32
        torch.testing.assert_close(result, metric.distance(d.x.float(), d.y.float()))


class ShapeLaws(MetricSuite):
    """Batches, and what is refused."""

    def _pairs(self, metric: Metric) -> tuple[Tensor, Tensor, Tensor]:
        d = self.draw(3)
        return d.x.unsqueeze(1), self.draw(2, seed=1).y, d.u.unsqueeze(1)

    def test_broadcasting(self) -> None:
        """(3, 1) points against (2,) points give (3, 2) results, one pair at a time; gradients keep their shape."""
        metric = self.make_small_metric(self.n)
        x, y, u = self._pairs(metric)
        tolerance = 10 * self.tolerance
        operators: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
            "distance": lambda x, y, u: metric.distance(x, y),
            "log": lambda x, y, u: metric.log(x, y),
            "geodesic": lambda x, y, u: metric.geodesic(x, y, 0.4),
            "transport": metric.transport,
        }
        for name, operator in operators.items():
            result = operator(x, y, u)
            assert result.shape[:2] == (3, 2), f"{name} does not broadcast"
            for i, j in itertools.product(range(3), range(2)):
                one = operator(x[i, 0], y[j], u[i, 0])
                assert_relative(result[i, j], one, tolerance, f"{name} of one pair of a batch")
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        grads = torch.autograd.grad(metric.log(a, b).sum() + metric.transport(a, b, u).sum(), (a, b))
        assert [g.shape for g in grads] == [x.shape, y.shape]

    def test_empty_batch(self) -> None:
        """A batch of nothing gives a batch of nothing."""
        metric, d = self.make_small_metric(self.n), self.draw(0)
        assert metric.distance(d.x, d.y).shape == (0,)
        assert metric.exp(d.x, d.u).shape == (0, self.n, self.n)
        assert metric.log(d.x, d.y).shape == (0, self.n, self.n)

    def test_refusals(self) -> None:
        """Wrong shapes, dtypes, asymmetry and NaN are refused by name."""
        metric, d = self.make_small_metric(self.n), self.draw()
        with pytest.raises(ValueError, match="`x` must have shape"):
            metric.log(d.x[:, :1], d.y)
        with pytest.raises(TypeError, match="`y` must be real floating point"):
            metric.log(d.x, torch.eye(self.n, dtype=torch.int64))
        with pytest.raises(TypeError, match=r"`x` must be a torch\.Tensor"):
            metric.log(d.x.numpy(), d.y)  # type: ignore[arg-type]
        skewed = d.y.clone()
        skewed[0, -1] += 1.0
        with pytest.raises(ValueError, match="`y` is not symmetric"):
            metric.distance(d.x, skewed)
        with pytest.raises(ValueError, match="`u` contains NaN"):
            metric.exp(d.x, d.u * float("nan"))
