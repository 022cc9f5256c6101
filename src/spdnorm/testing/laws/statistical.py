"""Laws of the Frechet mean and variance."""

from __future__ import annotations

import torch

from spdnorm.linalg import symmetrize
from spdnorm.testing.laws.suite import MetricSuite, assert_relative
from spdnorm.testing.needs_pytest import pytest


class MeanLaws(MetricSuite):
    """Mean and variance."""

    def test_stationary(self) -> None:
        """sum_i w_i Log_m(x_i) = 0 at the weighted mean m."""
        metric, d = self.make_metric(self.n), self.draw(3)
        weights = torch.tensor([0.1, 0.3, 0.2, 0.15, 0.25], dtype=torch.float64)
        mean = metric.mean(d.xs, weights)
        logs = metric.log(mean.unsqueeze(-3), d.xs)
        gradient = metric.norm(mean, symmetrize((weights[:, None, None] * logs).sum(-3)))
        spread = metric.variance(d.xs, mean, weights).sqrt()
        assert_relative(gradient, torch.zeros(3), 1000 * self.tolerance, "gradient at the mean", scale=spread)

    def test_least_variance(self) -> None:
        """The variance about the mean is the average squared distance, and grows when the mean is moved."""
        metric, d = self.make_metric(self.n), self.draw(3)
        mean = metric.mean(d.xs)
        variance = metric.variance(d.xs)
        direct = metric.squared_distance(mean.unsqueeze(-3), d.xs).mean(-1)
        assert_relative(variance, direct, 1000 * self.tolerance, "variance against squared distances")
        for sign in (1.0, -1.0):
            moved = metric.exp(mean, sign * 0.01 * metric.random_tangent(mean))
            assert (metric.variance(d.xs, moved) > variance).all()

    def test_weights(self) -> None:
        """Weights are normalised, all weight on one sample gives it, order does not matter, copies count."""
        metric, d = self.make_metric(self.n), self.draw(2)
        tolerance = 1000 * self.tolerance
        w = torch.tensor([1.0, 2.0, 3.0, 1.0, 1.0], dtype=torch.float64)
        mean = metric.mean(d.xs, w)
        assert_relative(metric.mean(d.xs, 7 * w), mean, tolerance, "scaled weights")
        assert_relative(metric.mean(d.xs.flip(-3), w.flip(0)), mean, tolerance, "reordered samples")
        copies = torch.repeat_interleave(d.xs, w.long(), dim=-3)
        assert_relative(metric.mean(copies), mean, tolerance, "copies against weights")
        one = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0], dtype=torch.float64)
        assert_relative(metric.mean(d.xs, one), d.xs[:, 2], tolerance, "all weight on one sample")
        per_batch = torch.stack([w, one])
        both = torch.stack([metric.mean(d.xs[0], w), metric.mean(d.xs[1], one)])
        assert_relative(metric.mean(d.xs, per_batch), both, tolerance, "weights of each batch")
        with pytest.raises(ValueError, match="weights"):
            metric.mean(d.xs, w[:3])

    def test_equal_samples(self) -> None:
        """The mean of copies of a point is the point; the variance is 0."""
        metric, d = self.make_metric(self.n), self.draw(2)
        copies = d.x.unsqueeze(-3).repeat(1, 4, 1, 1)
        assert_relative(metric.mean(copies), d.x, 100 * self.tolerance, "mean of equal samples")
        assert float(metric.variance(copies).max()) < 1e-12

    def test_two_points(self) -> None:
        """For two points the closed form (the geodesic) and the iteration agree."""
        metric, d = self.make_metric(self.n), self.draw(2)
        w = torch.tensor([0.7, 0.3], dtype=torch.float64)
        closed = metric.mean(d.xs[:, :2], w, return_info=True)
        assert closed.iterations == 0
        assert_relative(closed.mean, metric.geodesic(d.x, d.y, 0.3), 10 * self.tolerance, "mean of two points")
        third = torch.tensor([0.7, 0.3, 0.0], dtype=torch.float64)
        iterated = metric.mean(d.xs[:, :3], third)
        assert_relative(iterated, closed.mean, 1000 * self.tolerance, "closed form against iteration")

    def test_iterations(self) -> None:
        """Steps are counted, residuals fall, and enough of them reach the mean."""
        metric, d = self.make_metric(self.n), self.draw(2)
        full = metric.mean(d.xs, return_info=True)
        if not self.mean_iterates:
            assert full.iterations == 0
            return
        assert full.iterations > 1
        assert full.residual.shape == (2,)
        assert float(full.residual.max()) < 1e-12
        one, many = (metric.mean(d.xs, iterations=k, return_info=True) for k in (1, 40))
        assert (one.iterations, many.iterations) == (1, 40)
        assert (many.residual < one.residual).all()
        assert_relative(many.mean, full.mean, 1e-7, "40 plain steps against the mean")
        with pytest.raises(ValueError, match="iterations"):
            metric.mean(d.xs, iterations=-1)

    def test_no_samples(self) -> None:
        """A mean of nothing is an error."""
        metric, d = self.make_metric(self.n), self.draw(2)
        with pytest.raises(ValueError, match="xs"):
            metric.mean(d.xs[:, :0])
        with pytest.raises(ValueError, match="xs"):
            metric.mean(d.x[0])
