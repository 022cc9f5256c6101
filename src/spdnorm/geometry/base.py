"""What every metric on SPD matrices offers.

Public operators check their input and keep autocast out, then call the underscored method that a metric
supplies. Arguments go point first; batch dimensions lead and broadcast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, overload

import torch
from torch import Tensor

from spdnorm.geometry.average import Average, weighted_average
from spdnorm.geometry.mean import MeanResult, iterate
from spdnorm.geometry.sampling import random_spd, random_symmetric
from spdnorm.linalg import check_alike, check_symmetric, full_precision, safe_sqrt, symmetrize


class Metric(ABC):
    """A Riemannian metric on the SPD matrices of any size.

    A subclass supplies ``_inner``, ``_exp``, ``_log`` and ``_transport``; a closed form for ``_squared_distance``,
    ``_geodesic`` or ``_mean_step`` replaces the general one where there is one.

    Examples
    --------
    >>> from spdnorm.geometry import get, random_spd
    >>> metric, x, y = get("bwm"), random_spd(3, 5), random_spd(3, 5)
    >>> torch.allclose(metric.exp(x, metric.log(x, y)), y)
    True
    >>> metric.mean(x).shape, metric.variance(x).shape
    (torch.Size([3, 3]), torch.Size([]))
    """

    #: Whether singular (positive semi-definite) points are allowed.
    allows_singular: bool = False

    # -- what a metric supplies ------------------------------------------------------------------------------

    @abstractmethod
    def _inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor: ...

    @abstractmethod
    def _exp(self, x: Tensor, u: Tensor) -> Tensor: ...

    @abstractmethod
    def _log(self, x: Tensor, y: Tensor) -> Tensor: ...

    @abstractmethod
    def _transport(self, x: Tensor, y: Tensor, u: Tensor) -> Tensor: ...

    def _squared_distance(self, x: Tensor, y: Tensor) -> Tensor:
        u = self._log(x, y)
        return self._inner(x, u, u)

    def _geodesic(self, x: Tensor, y: Tensor, t: Tensor) -> Tensor:
        return self._exp(x, t * self._log(x, y))

    def _in_domain(self, x: Tensor, u: Tensor) -> Tensor:
        shape = torch.broadcast_shapes(x.shape, u.shape)[:-2]
        return torch.ones(shape, dtype=torch.bool, device=x.device)

    def _initial_mean(self, xs: Tensor, average: Average) -> Tensor:
        return average(xs)

    def _mean_step(self, mean: Tensor, xs: Tensor, average: Average, *, safe: bool) -> tuple[Tensor, Tensor]:
        """One step towards the Frechet mean, and the relative size (...) of the gradient before it.

        Samples lie on axis 0 of ``xs``. ``safe`` asks for a step length that converges from afar; without
        it the step is the plain one that the publications on batch normalisation use.
        """
        tangent = average(self._log(mean, xs))
        length = torch.linalg.matrix_norm(tangent) / torch.linalg.matrix_norm(mean)
        return self._exp(mean, tangent), length

    def _mean(
        self,
        xs: Tensor,
        average: Average,
        iterations: int | None,
        tolerance: float | None = None,
        max_iterations: int = 500,
    ) -> MeanResult:
        return iterate(
            self._initial_mean(xs, average),
            lambda mean: self._mean_step(mean, xs, average, safe=iterations is None),
            iterations=iterations,
            tolerance=tolerance,
            max_iterations=max_iterations,
        )

    # -- operators -------------------------------------------------------------------------------------------

    def _check(self, **named: Tensor) -> None:
        for name, value in named.items():
            check_symmetric(value, name)
        check_alike(**named)

    @full_precision
    def inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Inner product <u, v>_x, shape (...)."""
        self._check(x=x, u=u, v=v)
        return self._inner(x, u, v)

    @full_precision
    def norm(self, x: Tensor, u: Tensor) -> Tensor:
        """Length of ``u`` at ``x``, shape (...)."""
        self._check(x=x, u=u)
        return safe_sqrt(self._inner(x, u, u))

    @full_precision
    def exp(self, x: Tensor, u: Tensor) -> Tensor:
        """Exponential map: the point reached from ``x`` along ``u`` in unit time; see :meth:`in_domain`."""
        self._check(x=x, u=u)
        return self._exp(x, u)

    @full_precision
    def log(self, x: Tensor, y: Tensor) -> Tensor:
        """Logarithm: the tangent vector at ``x`` that leads to ``y``."""
        self._check(x=x, y=y)
        # What rounding leaves of a difference of nearly equal points is not symmetric by itself.
        return symmetrize(self._log(x, y))

    @full_precision
    def geodesic(self, x: Tensor, y: Tensor, t: float | Tensor) -> Tensor:
        """Point at time ``t`` (a number, or a tensor (...)) on the geodesic from ``x`` (0) to ``y`` (1)."""
        self._check(x=x, y=y)
        return self._geodesic(x, y, as_time(t, x))

    @full_precision
    def transport(self, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
        """Parallel transport of ``u`` from ``x`` to ``y`` along their geodesic."""
        self._check(x=x, y=y, u=u)
        # Rounding in U, divided by small eigenvalues of X, is not symmetric by itself.
        return symmetrize(self._transport(x, y, u))

    @full_precision
    def squared_distance(self, x: Tensor, y: Tensor) -> Tensor:
        """Squared geodesic distance, shape (...); smooth at ``x == y``."""
        self._check(x=x, y=y)
        return self._squared_distance(x, y)

    @full_precision
    def distance(self, x: Tensor, y: Tensor) -> Tensor:
        """Geodesic distance, shape (...); its gradient at ``x == y`` is 0."""
        self._check(x=x, y=y)
        return safe_sqrt(self._squared_distance(x, y))

    @full_precision
    def in_domain(self, x: Tensor, u: Tensor) -> Tensor:
        """Whether ``exp(x, u)`` lies on a geodesic that stays in the manifold, booleans (...)."""
        self._check(x=x, u=u)
        return self._in_domain(x, u)

    # -- statistics ------------------------------------------------------------------------------------------

    @overload
    def mean(
        self,
        xs: Tensor,
        weights: Tensor | None = None,
        iterations: int | None = None,
        *,
        tolerance: float | None = None,
        max_iterations: int = 500,
        return_info: Literal[False] = False,
    ) -> Tensor: ...

    @overload
    def mean(
        self,
        xs: Tensor,
        weights: Tensor | None = None,
        iterations: int | None = None,
        *,
        tolerance: float | None = None,
        max_iterations: int = 500,
        return_info: Literal[True],
    ) -> MeanResult: ...

    @full_precision
    def mean(
        self,
        xs: Tensor,
        weights: Tensor | None = None,
        iterations: int | None = None,
        *,
        tolerance: float | None = None,
        max_iterations: int = 500,
        return_info: bool = False,
    ) -> Tensor | MeanResult:
        """Weighted Frechet mean (paper, Eq. (mean)).

        Parameters
        ----------
        xs : Tensor, shape (..., N, n, n)
        weights : Tensor, shape (..., N), optional
            Non-negative; they are normalised to sum to one.
        iterations : int, optional
            Exactly so many steps from the arithmetic mean; by default until the gradient, relative to the mean,
            is below ``tolerance`` or stops falling. Two points have the geodesic as closed form.
        tolerance : float, optional
            By default 100 times the dtype's epsilon.
        max_iterations : int
            Bound on the steps when ``iterations`` is not given.
        return_info : bool
            Return a :class:`MeanResult` (mean, iterations, residual) instead of the mean alone.

        Returns
        -------
        Tensor, shape (..., n, n), or MeanResult
        """
        self._check(xs=xs)
        if xs.dim() < 3 or xs.shape[-3] == 0:
            raise ValueError(f"`xs` must have shape (..., N, n, n) with N > 0, got {tuple(xs.shape)}")
        average, w = weighted_average(xs, weights)
        points = xs.movedim(-3, 0)
        if points.shape[0] == 2 and iterations is None:
            result = MeanResult(self._geodesic(points[0], points[1], w[1]), 0, xs.new_zeros(xs.shape[:-3]))
        else:
            result = self._mean(points, average, iterations, tolerance, max_iterations)
        return result if return_info else result.mean

    @full_precision
    def variance(self, xs: Tensor, mean: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        """Frechet variance (paper, Eq. (var)): weighted mean of the squared distances from ``mean``, shape (...).

        ``xs`` has shape (..., N, n, n); ``mean`` (..., n, n) is the Frechet mean unless given.
        """
        centre = self.mean(xs, weights) if mean is None else mean
        self._check(xs=xs, mean=centre)
        average, _ = weighted_average(xs, weights)
        points = xs.movedim(-3, 0)
        return average(self._squared_distance(centre, points)[..., None, None])[..., 0, 0]

    # -- sampling --------------------------------------------------------------------------------------------

    def random_point(
        self,
        n: int,
        *batch: int,
        condition: float = 10.0,
        generator: torch.Generator | None = None,
        dtype: torch.dtype = torch.float64,
        device: torch.device | str | None = None,
    ) -> Tensor:
        """Random SPD matrices (*batch, n, n) with exactly this condition number."""
        return random_spd(n, *batch, condition=condition, generator=generator, dtype=dtype, device=device)

    def random_tangent(self, x: Tensor, *, generator: torch.Generator | None = None) -> Tensor:
        """Random tangent vectors at ``x`` (..., n, n), of unit length in this metric."""
        u = random_symmetric(x.shape, generator=generator, dtype=x.dtype, device=x.device)
        return u / self.norm(x, u)[..., None, None]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def as_time(t: float | Tensor, like: Tensor) -> Tensor:
    """A geodesic's time as a tensor that broadcasts against (..., n, n)."""
    return torch.as_tensor(t, dtype=like.dtype, device=like.device)[..., None, None]
