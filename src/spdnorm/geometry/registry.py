"""Metrics by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spdnorm.geometry.affine_invariant import AffineInvariant
from spdnorm.geometry.base import Metric
from spdnorm.geometry.bures_wasserstein import BuresWasserstein
from spdnorm.geometry.generalized_bw import GeneralizedBuresWasserstein
from spdnorm.geometry.log_cholesky import LogCholesky
from spdnorm.geometry.log_euclidean import LogEuclidean
from spdnorm.geometry.power import PowerDeformed

_metrics: dict[str, Callable[..., Metric]] = {
    "aim": AffineInvariant,
    "lem": LogEuclidean,
    "lcm": LogCholesky,
    "bwm": BuresWasserstein,
    "gbwm": GeneralizedBuresWasserstein,
}


def names() -> list[str]:
    """Names that :func:`get` knows.

    Examples
    --------
    >>> from spdnorm.geometry import names
    >>> {"aim", "bwm", "gbwm", "lcm", "lem"} <= set(names())
    True
    """
    return sorted(_metrics)


def register(name: str, factory: Callable[..., Metric]) -> None:
    """Make a metric available by name; a name can be taken once.

    Examples
    --------
    >>> from spdnorm.geometry import LogEuclidean, get, register
    >>> register("my-metric", LogEuclidean)
    >>> get("my-metric")
    LogEuclidean(alpha=1, beta=0)
    """
    if name in _metrics:
        raise ValueError(f"metric {name!r} is registered already: choose another name than {', '.join(names())}")
    _metrics[name] = factory


def get(name: str, *, theta: float = 1.0, **options: Any) -> Metric:
    """A metric by name, deformed by the power ``theta`` if it is not 1.

    Parameters
    ----------
    name : str
        ``aim``, ``lem``, ``lcm``, ``bwm``, ``gbwm`` (needs ``metric_matrix=``), or a registered one.
    theta : float
        Power of :class:`PowerDeformed`.
    **options
        Handed to the metric.

    Examples
    --------
    >>> from spdnorm.geometry import get
    >>> get("aim")
    AffineInvariant(alpha=1, beta=0)
    >>> get("bwm", theta=0.5)
    PowerDeformed(BuresWasserstein(), theta=0.5)
    """
    if name not in _metrics:
        raise ValueError(f"unknown metric {name!r}: choose one of {', '.join(names())}")
    try:
        metric = _metrics[name](**options)
    except TypeError as error:
        raise TypeError(f"metric {name!r} cannot take these options: {error}") from error
    return metric if theta == 1 else PowerDeformed(metric, theta)
