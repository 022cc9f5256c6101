"""Weight decay where it means something: on Euclidean parameters, and on no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import geoopt
from torch import Tensor, nn
from torch.nn.utils import parametrize

Params = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]


def is_manifold(parameter: Tensor) -> bool:
    """Whether a parameter lives on a manifold other than the Euclidean space."""
    if not isinstance(parameter, geoopt.ManifoldParameter | geoopt.ManifoldTensor):
        return False
    return not isinstance(parameter.manifold, geoopt.Euclidean)


def split_group(group: dict[str, Any]) -> list[dict[str, Any]]:
    """One parameter group as two: the Euclidean parameters, and those on a manifold without weight decay."""
    params = group["params"]
    params = [params] if isinstance(params, Tensor) else [p[1] if isinstance(p, tuple) else p for p in params]
    flat = [p for p in params if not is_manifold(p)]
    curved = [p for p in params if is_manifold(p)]
    groups = []
    if flat or not curved:
        groups.append({**group, "params": flat})
    if curved:
        groups.append({**group, "params": curved, "weight_decay": 0.0})
    return groups


def split_params(params: Params) -> list[dict[str, Any]]:
    """The groups of an optimiser's ``params``, each split by :func:`split_group`."""
    given = list(params)
    if not given:
        raise ValueError("`params` is empty: pass module.parameters() of a module with parameters")
    groups = given if isinstance(given[0], dict) else [{"params": given}]
    return [part for group in groups for part in split_group(group)]  # type: ignore[arg-type]


def parameter_groups(module: nn.Module, *, weight_decay: float = 0.0) -> list[dict[str, Any]]:
    """Parameter groups of a module for any optimiser, torch's or ours.

    Weight decay falls on Euclidean weights; parameters on a manifold, those under a torch parametrisation (their
    coordinates have no origin to decay to), and the weights and biases of normalisation layers have none.

    Parameters
    ----------
    module : nn.Module
    weight_decay : float
        For the Euclidean weights.

    Examples
    --------
    >>> from spdnorm.models import SPDNet
    >>> from spdnorm.optim import parameter_groups
    >>> [group["weight_decay"] for group in parameter_groups(SPDNet((8, 5), 3, norm="gbw"), weight_decay=0.1)]
    [0.1, 0.0]
    """
    bare: set[int] = set()
    for child in module.modules():
        constrained = isinstance(child, parametrize.ParametrizationList)
        normalises = isinstance(child, nn.modules.batchnorm._NormBase | nn.LayerNorm | nn.GroupNorm)
        if constrained or normalises or hasattr(child, "running_var"):
            bare.update(id(p) for p in child.parameters())
    decayed: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for parameter in module.parameters():
        if parameter.requires_grad:
            (others if id(parameter) in bare or is_manifold(parameter) else decayed).append(parameter)
    groups: list[dict[str, Any]] = [
        {"params": decayed, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
