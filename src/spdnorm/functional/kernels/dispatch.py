"""Which kernel serves which metric."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from spdnorm.functional.kernels.affine_invariant import AffineInvariantKernel
from spdnorm.functional.kernels.base import GenericKernel, NormKernel
from spdnorm.functional.kernels.bures_wasserstein import BuresWassersteinKernel
from spdnorm.functional.kernels.charted import ChartedKernel
from spdnorm.functional.kernels.flat import FlatKernel
from spdnorm.geometry import AffineInvariant, BuresWasserstein, Euclidean, Metric, Pullback


@singledispatch
def kernel_for(metric: Metric) -> NormKernel[Any]:
    """The normalisation kernel of a metric; a new metric works through its operators, or registers its own.

    Examples
    --------
    >>> from spdnorm.geometry import LogEuclidean
    >>> type(kernel_for(LogEuclidean())).__name__
    'FlatKernel'
    """
    return GenericKernel(metric)


@kernel_for.register
def _(metric: BuresWasserstein) -> NormKernel[Any]:
    return BuresWassersteinKernel(metric)


@kernel_for.register
def _(metric: AffineInvariant) -> NormKernel[Any]:
    return AffineInvariantKernel(metric)


@kernel_for.register
def _(metric: Pullback) -> NormKernel[Any]:
    if isinstance(metric.base, Euclidean):
        return FlatKernel(metric)
    return ChartedKernel(kernel_for(metric.base), metric.chart, scale=metric.scale)
