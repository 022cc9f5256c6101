"""Single operations beside those of other packages: distances, logarithms and means."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spdnorm.geometry import AffineInvariant, BuresWasserstein
from spdnorm.linalg import logm

#: Gives the result of one operation on samples X (N, n, n) and a point (n, n).
Operation = Callable[[Tensor, Tensor], Any]


class Peer(NamedTuple):
    """Another package's function: where it is, and how it is called."""

    package: str
    module: str
    name: str
    call: Callable[[Any, Tensor, Tensor], Any]


def _on_arrays(function: Any, x: Tensor, point: Tensor) -> Any:
    return function(x.numpy(), point.numpy())


def _one_array(function: Any, x: Tensor, point: Tensor) -> Any:
    return function(x.numpy())


def _applied(function: Any, x: Tensor, point: Tensor) -> Any:
    return function.apply(x)


def _one(function: Any, x: Tensor, point: Tensor) -> Any:
    return function(x)


def _method(name: str) -> Callable[[Any, Tensor, Tensor], Any]:
    return lambda manifold, x, point: getattr(manifold(), name)(point, x)


#: Of means, as the others have it.
_TOLERANCE = 1e-8
_OURS: dict[str, Operation] = {
    "matrix logarithm": lambda x, point: logm(x),
    "AIM logarithm": lambda x, point: AffineInvariant().log(point, x),
    "AIM distance": lambda x, point: AffineInvariant().distance(point, x),
    "AIM mean": lambda x, point: AffineInvariant().mean(x, tolerance=_TOLERANCE),
    "BW mean": lambda x, point: BuresWasserstein().mean(x, tolerance=_TOLERANCE),
}
_PEERS: dict[str, list[Peer]] = {
    "matrix logarithm": [
        Peer("spd-learn", "spd_learn.functional", "matrix_log", _applied),
        Peer("pyriemann", "pyriemann.geometry.base", "logm", _one_array),
    ],
    "AIM logarithm": [Peer("geoopt", "geoopt", "SymmetricPositiveDefinite", _method("logmap"))],
    "AIM distance": [
        Peer("geoopt", "geoopt", "SymmetricPositiveDefinite", _method("dist")),
        Peer("pyriemann", "pyriemann.geometry.distance", "distance_riemann", _on_arrays),
    ],
    "AIM mean": [Peer("pyriemann", "pyriemann.geometry.mean", "mean_riemann", _one_array)],
    "BW mean": [
        Peer("spd-learn", "spd_learn.functional", "bures_wasserstein_mean", _one),
        Peer("pyriemann", "pyriemann.geometry.mean", "mean_wasserstein", _one_array),
    ],
}


def operation_names() -> list[str]:
    """Names of the operations."""
    return list(_OURS)


def contenders(operation: str, x: Tensor, point: Tensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Ours, and those of the packages that are installed and take what is on this device."""
    yield "spdnorm", partial(_without_gradient, _OURS[operation], x, point)
    for peer in _PEERS[operation]:
        if x.device.type != "cpu" and peer.call in (_on_arrays, _one_array):
            continue
        try:
            function = getattr(importlib.import_module(peer.module), peer.name)
        except (ImportError, AttributeError):
            continue
        yield peer.package, partial(_without_gradient, partial(peer.call, function), x, point)


@torch.no_grad()
def _without_gradient(operation: Operation, x: Tensor, point: Tensor) -> Any:
    return operation(x, point)
