"""Whole modules in pickles: for skorch and braindecode, joblib and ``torch.save(model)``.

torch gives a module under a parametrisation a class of its own, made on the fly, and refuses to pickle it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

_LISTS = "parametrizations"


def make_picklable(module: nn.Module) -> None:
    """Let ``module``, parametrised already by matrices that the identity may stand for, be pickled."""
    type(module).__reduce_ex__ = _reduce  # type: ignore[assignment, method-assign]


def _reduce(module: nn.Module, protocol: Any) -> tuple[Any, ...]:
    state = dict(module.__dict__)
    modules = dict(state["_modules"])
    lists = modules.pop(_LISTS)
    state["_modules"] = modules
    return _restore, (parametrize.type_before_parametrizations(module), state, dict(lists.items()))


def _restore(kind: type[nn.Module], state: dict[str, Any], lists: dict[str, Any]) -> nn.Module:
    module = kind.__new__(kind)
    module.__dict__.update(state)
    for name, saved in lists.items():
        # Registered anew for the class and its properties; the tensors are those of the saved list, to the last bit.
        value = saved.original.detach()
        stand_in = torch.eye(*value.shape[-2:], dtype=value.dtype, device=value.device).expand_as(value)
        module.register_parameter(name, nn.Parameter(stand_in.clone()))
        for parametrization in saved:
            parametrize.register_parametrization(module, name, parametrization)
        module.get_submodule(_LISTS)[name] = saved  # type: ignore[operator]
    make_picklable(module)
    return module
