"""Optimisers by name, for a whole module."""

from __future__ import annotations

from typing import Any

from torch import nn, optim

from spdnorm.optim.groups import parameter_groups
from spdnorm.optim.riemannian_adam import RiemannianAdam
from spdnorm.optim.riemannian_sgd import RiemannianSGD

_optimizers: dict[str, tuple[Any, dict[str, Any]]] = {
    "sgd": (RiemannianSGD, {}),
    "adam": (RiemannianAdam, {}),
    "amsgrad": (RiemannianAdam, {"amsgrad": True}),
    "torch-sgd": (optim.SGD, {}),
    "torch-adam": (optim.Adam, {}),
    "torch-amsgrad": (optim.Adam, {"amsgrad": True}),
    "torch-adamw": (optim.AdamW, {}),
}


def names() -> list[str]:
    """Names that :func:`get` knows.

    Examples
    --------
    >>> from spdnorm.optim import names
    >>> names()
    ['adam', 'amsgrad', 'sgd', 'torch-adam', 'torch-adamw', 'torch-amsgrad', 'torch-sgd']
    """
    return sorted(_optimizers)


def get(name: str, module: nn.Module, *, lr: float, weight_decay: float = 0.0, **options: Any) -> optim.Optimizer:
    """An optimiser of a module's parameters, weight decay falling on its Euclidean weights only.

    Parameters
    ----------
    name : str
        ``sgd``, ``adam``, ``amsgrad`` (Riemannian, for both kinds of parameters), or one of torch's own for modules
        with ``parametrized=True``: ``torch-sgd``, ``torch-adam``, ``torch-amsgrad``, ``torch-adamw``.
    module : nn.Module
    lr, weight_decay : float
    **options
        Handed to the optimiser.

    Examples
    --------
    >>> from spdnorm.models import SPDNet
    >>> from spdnorm.optim import get
    >>> type(get("adam", SPDNet((8, 5), 3), lr=1e-2)).__name__
    'RiemannianAdam'
    """
    if name not in _optimizers:
        raise ValueError(f"unknown optimizer {name!r}: choose one of {', '.join(names())}")
    factory, preset = _optimizers[name]
    return factory(parameter_groups(module, weight_decay=weight_decay), lr=lr, **{**preset, **options})
