"""Whole modules in pickles: for skorch and braindecode, joblib, spawned processes and ``torch.save(model)``.

torch gives a module under a parametrisation a class of its own, made on the fly, and refuses to pickle it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize


def make_picklable(module: nn.Module) -> None:
    """Let a module that is parametrised already be pickled."""
    type(module).__reduce_ex__ = _reduce  # type: ignore[assignment, method-assign]


def _reduce(module: nn.Module, protocol: Any) -> tuple[Any, ...]:
    names = list(module.get_submodule("parametrizations")._modules)
    return _blank, (parametrize.type_before_parametrizations(module), names), module.__dict__


def _blank(kind: type[nn.Module], names: list[str]) -> nn.Module:
    """A module of this class with parametrised tensors of these names, which takes over a saved state whole."""
    module = kind.__new__(kind)
    nn.Module.__init__(module)
    for name in names:
        module.register_parameter(name, nn.Parameter(torch.zeros(())))
        parametrize.register_parametrization(module, name, nn.Identity())
    make_picklable(module)
    return module
