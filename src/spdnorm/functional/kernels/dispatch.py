"""Which kernel serves which metric."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spdnorm.functional.kernels.affine_invariant import AffineInvariantKernel
from spdnorm.functional.kernels.base import GenericKernel, NormKernel
from spdnorm.functional.kernels.bures_wasserstein import BuresWassersteinKernel
from spdnorm.functional.kernels.charted import ChartedKernel
from spdnorm.functional.kernels.flat import FlatKernel
from spdnorm.geometry import (
    AffineInvariant,
    BuresWasserstein,
    Euclidean,
    GeneralizedBuresWasserstein,
    Metric,
    Pullback,
)


def _pullback(metric: Pullback) -> NormKernel[Any]:
    if isinstance(metric.base, Euclidean):
        return FlatKernel(metric)
    return ChartedKernel(kernel_for(metric.base), metric.chart, scale=metric.scale)


def _generalized(metric: GeneralizedBuresWasserstein) -> NormKernel[Any]:
    return BuresWassersteinKernel(metric.base, roots=(metric.chart.root, metric.chart.inverse_root))


# Not functools.singledispatch: torch.compile cannot trace it.
_kernels: dict[type, Callable[[Any], NormKernel[Any]]] = {
    Metric: GenericKernel,
    AffineInvariant: AffineInvariantKernel,
    BuresWasserstein: BuresWassersteinKernel,
    GeneralizedBuresWasserstein: _generalized,
    Pullback: _pullback,
}


def register_kernel(metric: type[Metric], kernel: Callable[[Any], NormKernel[Any]]) -> None:
    """Let metrics of this class, and of its subclasses, normalise by a kernel of their own."""
    _kernels[metric] = kernel


def kernel_for(metric: Metric) -> NormKernel[Any]:
    """The normalisation kernel of a metric; a new metric works through its operators, or registers its own.

    Examples
    --------
    >>> from spdnorm.geometry import LogEuclidean
    >>> type(kernel_for(LogEuclidean())).__name__
    'FlatKernel'
    """
    for ancestor in type(metric).__mro__:
        if ancestor in _kernels:
            return _kernels[ancestor](metric)
    raise TypeError(f"`metric` must be a spdnorm.geometry.Metric, got {type(metric).__name__}")
