"""What a law suite is about: a metric, and what may be expected of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from spdnorm.geometry import Metric
from spdnorm.testing.matrices import Kind, spd_matrices, tangents

Invariance = Literal["orthogonal", "scaling", "inversion", "congruence"]


@dataclass(frozen=True)
class Draw:
    """Arguments for every operator: points ``x``, ``y``, tangent vectors ``u``, ``v`` at ``x``, samples ``xs``."""

    x: Tensor
    y: Tensor
    u: Tensor
    v: Tensor
    xs: Tensor


class MetricSuite:
    """Base of the law suites; a subclass supplies :meth:`make_metric` and says what the metric can do.

    Attributes
    ----------
    n : int
        Size of the matrices that most laws are tried on.
    tolerance : float
        Relative error that float64 results may show at condition number 10.
    tolerance_float32 : float
        Relative difference allowed between float32 and float64 results at condition number 10.
    transport_tolerance : float
        As ``tolerance``, for parallel transport (integrated ones are less accurate).
    condition_limit : float
        Largest condition number that the metric is asked to bear.
    condition_factor : float
        At condition number k, results may be off by ``condition_factor * k`` times the machine epsilon.
    invariances : tuple of str
        Out of ``orthogonal``, ``scaling``, ``inversion``, ``congruence``.
    mean_iterates : bool
        Whether the mean is found by iteration (and not in closed form).
    compile_backend : str
        Backend of ``torch.compile`` for the laws on it.
    radius : float
        Length of the tangent vectors that ``exp`` is tried on; it must lie within the domain.

    Examples
    --------
    >>> from spdnorm.testing import MetricSuite
    >>> MetricSuite().draw(4, n=3, condition=100.0).xs.shape
    torch.Size([4, 5, 3, 3])
    """

    n: ClassVar[int] = 3
    tolerance: ClassVar[float] = 1e-11
    tolerance_float32: ClassVar[float] = 1e-4
    transport_tolerance: ClassVar[float] = 1e-11
    condition_limit: ClassVar[float] = 1e10
    condition_factor: ClassVar[float] = 50.0
    invariances: ClassVar[tuple[Invariance, ...]] = ()
    mean_iterates: ClassVar[bool] = True
    compile_backend: ClassVar[str] = "aot_eager"
    radius: ClassVar[float] = 0.2

    def make_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        """The metric under test, for n x n matrices of this dtype."""
        raise NotImplementedError(f"{type(self).__name__} must define make_metric(self, n, dtype)")

    def make_small_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        """The metric for the laws on derivatives, transforms and hard matrices; override it if the full one is slow."""
        return self.make_metric(n, dtype)

    def make_traced_metric(self, n: int, dtype: torch.dtype = torch.float64) -> Metric:
        """The metric for the law on compilation; override it if the small one is long to trace."""
        return self.make_small_metric(n, dtype)

    def draw(
        self,
        *batch: int,
        n: int | None = None,
        kind: Kind = "generic",
        condition: float = 10.0,
        dtype: torch.dtype = torch.float64,
        seed: int = 0,
    ) -> Draw:
        """Arguments for every operator, reproducibly; tangent vectors have the length ``radius``, relative to ``x``."""
        size = self.n if n is None else n
        xs = spd_matrices(size, *batch, 5, kind=kind, condition=condition, seed=seed)
        x, y = xs.select(-3, 0), xs.select(-3, 1)
        # As large as the point itself in every direction, so that u leaves no eigenvalue far behind.
        root = torch.linalg.cholesky(x) if kind != "boundary" else torch.eye(size, dtype=x.dtype).expand_as(x)
        u, v = (self.radius * root @ tangents(size, *batch, seed=seed + s) @ root.mT for s in (100, 101))
        u, v = 0.5 * (u + u.mT), 0.5 * (v + v.mT)
        return Draw(*(a.to(dtype) for a in (x, y, u, v, xs)))

    def operators(self, metric: Metric) -> dict[str, tuple[Callable[..., Tensor], tuple[str, ...]]]:
        """Every operator that returns one tensor, with the names of its arguments in :class:`Draw`."""

        def with_time(x: Tensor, y: Tensor) -> Tensor:
            return metric.geodesic(x, y, 0.3)

        def steps(xs: Tensor) -> Tensor:
            return metric.mean(xs, iterations=2)

        def spread(xs: Tensor) -> Tensor:
            return metric.variance(xs, metric.mean(xs, iterations=1))

        return {
            "inner": (metric.inner, ("x", "u", "v")),
            "norm": (metric.norm, ("x", "u")),
            "exp": (metric.exp, ("x", "u")),
            "log": (metric.log, ("x", "y")),
            "geodesic": (with_time, ("x", "y")),
            "transport": (metric.transport, ("x", "y", "u")),
            "squared_distance": (metric.squared_distance, ("x", "y")),
            "distance": (metric.distance, ("x", "y")),
            "mean": (steps, ("xs",)),
            "variance": (spread, ("xs",)),
        }

    def evaluate(self, metric: Metric, data: Draw, name: str) -> Tensor:
        """One operator by name."""
        function, arguments = self.operators(metric)[name]
        return function(*(getattr(data, a) for a in arguments))

    def allowed(self, condition: float) -> float:
        """Relative error that is allowed at this condition number, in float64."""
        return self.tolerance + self.condition_factor * condition * torch.finfo(torch.float64).eps


#: Names of the operators, for parametrised laws.
OPERATORS = (
    "inner",
    "norm",
    "exp",
    "log",
    "geodesic",
    "transport",
    "squared_distance",
    "distance",
    "mean",
    "variance",
)


def assert_relative(actual: Tensor, expected: Tensor, tolerance: float, what: str, *, scale: Any = None) -> None:
    """Frobenius norm of the difference over that of ``expected`` (or ``scale``), the worst of the batch.

    Examples
    --------
    >>> from spdnorm.testing import assert_relative
    >>> assert_relative(torch.ones(2), torch.ones(2) + 1e-9, 1e-6, "ones")
    """
    matrices = actual.dim() >= 2 and actual.shape[-1] == actual.shape[-2]
    axes = (-2, -1) if matrices else ()
    gap = (actual.double() - expected.double()).square()
    size = expected.double().square()
    if matrices:
        gap, size = gap.sum(axes), size.sum(axes)
    reference = size.sqrt() if scale is None else torch.as_tensor(scale, dtype=torch.float64)
    worst = float((gap.sqrt() / reference.clamp_min(1e-300)).max()) if gap.numel() else 0.0
    if not worst <= tolerance:
        raise AssertionError(f"{what}: relative error {worst:.2e}, allowed {tolerance:.2e}")
