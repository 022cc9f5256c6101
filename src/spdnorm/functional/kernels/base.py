"""What batch normalisation needs of a metric, and the general way to supply it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from torch import Tensor

from spdnorm.geometry import Average, Metric
from spdnorm.linalg import Spectrum, eye_like

D = TypeVar("D")


class Normalized(NamedTuple):
    """Normalised samples (N, ..., n, n), still in the kernel's space, and the statistics that were used."""

    samples: Tensor
    mean: Tensor
    variance: Tensor
    decomposed: Spectrum | None = None


class NormKernel(ABC, Generic[D]):
    """How one metric centres, measures, scales and moves a batch.

    Samples lie on axis 0 of a batch (N, ..., n, n); means, biases and factors have the remaining axes. Batch norm
    is written once on top: ``enter`` the space where statistics are taken, find the ``mean``, take each
    sample's ``deviation`` from it (transported to the identity), measure it by ``squared_norm``, and
    ``rebuild`` samples from deviations, scaled, about the bias; ``leave`` the space again.
    """

    def enter(self, x: Tensor) -> Tensor:
        """SPD points -> the space where statistics are taken."""
        return x

    def leave(self, y: Tensor) -> Tensor:
        """Inverse of :meth:`enter`."""
        return y

    def anchor(self, bias: Tensor) -> Tensor:
        """A bias, given as an SPD point -> the space in which :meth:`rebuild` takes it."""
        return self.enter(bias)

    def load(self, buffer: Tensor) -> Tensor:
        """A running-mean buffer, always SPD -> the space where statistics are taken."""
        return buffer

    def store(self, mean: Tensor) -> Tensor:
        """Inverse of :meth:`load`."""
        return mean

    @abstractmethod
    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:
        """Barycentre after so many steps (``None``: converged), shape (..., n, n)."""

    @abstractmethod
    def deviation(self, y: Tensor, mean: Tensor) -> D:
        """The samples seen from ``mean``, moved to the identity."""

    @abstractmethod
    def squared_norm(self, deviation: D) -> Tensor:
        """Squared distance of each sample from the mean, shape (N, ...)."""

    @abstractmethod
    def rebuild(self, deviation: D, factor: Tensor | None, bias: Tensor | None) -> Tensor:
        """Samples whose deviation from ``bias`` (``None``: the identity) is ``factor`` times the given one.

        ``factor`` has shape (..., 1, 1), ``bias`` is in the space where statistics are taken.
        """

    def normalize(
        self,
        y: Tensor,
        *,
        mean: Tensor | None,
        variance: Tensor | None,
        bias: Tensor | None,
        scale: Tensor | None,
        eps: float,
        iterations: int | None,
        stats_grad: bool,
        weight: float | Tensor,
        on_mean: Callable[[Spectrum], None] | None = None,
    ) -> Normalized | None:
        """All the steps at once, where a kernel has a faster way to do them; ``None`` where it has not.

        ``mean`` and ``variance`` are those of the batch where they are None, ``bias`` is an anchor, ``weight``
        multiplies squared lengths. ``on_mean`` is called as soon as the batch's mean is decomposed.
        """
        return None

    @abstractmethod
    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:
        """Point at time ``t`` (..., 1, 1) on the geodesic from ``a`` to ``b``, for running means."""

    def towards(self, a: Tensor, b: Spectrum, t: Tensor) -> Tensor:
        """:meth:`interpolate` to a point whose eigendecomposition is known."""
        return self.interpolate(a, b.matrix, t)


class GenericKernel(NormKernel[Tensor]):
    """Any metric, through its operators: log at the mean, transport to I, scale, transport to the bias, exp."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def mean(self, y: Tensor, average: Average, iterations: int | None) -> Tensor:  # noqa: D102
        return self.metric._mean(y, average, iterations).mean

    def deviation(self, y: Tensor, mean: Tensor) -> Tensor:  # noqa: D102
        identity = eye_like(mean).expand_as(mean)
        return self.metric._transport(mean, identity, self.metric._log(mean, y))

    def squared_norm(self, deviation: Tensor) -> Tensor:  # noqa: D102
        return self.metric._inner(eye_like(deviation), deviation, deviation)

    def rebuild(self, deviation: Tensor, factor: Tensor | None, bias: Tensor | None) -> Tensor:  # noqa: D102
        u = deviation if factor is None else factor * deviation
        identity = eye_like(u)
        if bias is None:
            return self.metric._exp(identity, u)
        return self.metric._exp(bias, self.metric._transport(identity, bias, u))

    def interpolate(self, a: Tensor, b: Tensor, t: Tensor) -> Tensor:  # noqa: D102
        return self.metric._geodesic(a, b, t)
