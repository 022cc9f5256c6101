"""Exact statistics over a data set in place of running ones."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from spdnorm.nn.norm.base import RiemannianBatchNorm
from spdnorm.nn.norm.domain import DomainBatchNorm


def _default_call(model: nn.Module, batch: Any) -> Any:
    if isinstance(batch, tuple | list):
        batch = batch[0]
    return model(batch)


def _norms(model: nn.Module) -> list[nn.Module]:
    domain = [m for m in model.modules() if isinstance(m, DomainBatchNorm)]
    inner = {id(m.norm) for m in domain}
    plain = [m for m in model.modules() if isinstance(m, RiemannianBatchNorm) and id(m) not in inner]
    return [*domain, *(m for m in plain if m.track_running_stats)]


class _Reached(BaseException):
    """Ends a forward pass: what comes after a layer without statistics is of no use."""


class _Recorder:
    """Records what the first layer of those still ``waiting`` is called with, and ends the pass there."""

    def __init__(self, layers: list[nn.Module]) -> None:
        self.waiting = {id(layer) for layer in layers}
        self.layer: nn.Module | None = None
        self.calls: list[tuple[torch.Tensor, ...]] = []

    def hook(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if id(module) not in self.waiting:
            return
        if self.layer is None:
            self.layer = module
        if self.layer is module:
            named = inspect.signature(type(module).forward).bind(module, *args, **kwargs).args[1:]
            self.calls.append(tuple(a.detach() for a in named))
        raise _Reached

    def refit(self) -> bool:
        """Refit the layer that was met by all that was recorded; False if none was."""
        if self.layer is None:
            return False
        inputs = [torch.cat(parts) for parts in zip(*self.calls, strict=True)]
        self.layer.refit(*inputs)  # type: ignore[operator]
        self.waiting.remove(id(self.layer))
        self.layer, self.calls = None, []
        return True


@torch.no_grad()
def refit(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    call: Callable[[nn.Module, Any], Any] | None = None,
) -> nn.Module:
    """Give every normalisation layer of ``model`` the exact statistics of its inputs over ``loader``.

    Layers are refitted in the order in which the data meet them, each on inputs normalised by the exact statistics of
    the ones before, with the barycentre iterated to convergence. All inputs of one layer are held in memory. A layer
    that the data do not reach is left alone; one that is called more than once in a pass takes the first call.

    Parameters
    ----------
    model : Module
        Put into evaluation mode while this runs, restored after.
    loader : iterable, which can be gone through again and again (a ``DataLoader``, a list)
    call : callable, optional
        ``call(model, batch)`` runs the model; by default on the first element of a tuple, or on the batch itself.

    Returns
    -------
    Module
        ``model``.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.models import SPDNet
    >>> from spdnorm.nn import refit
    >>> model = SPDNet((6, 4), 2, norm="gbw", dtype=torch.float64)
    >>> batches = random_spd(6, 8, 25)
    >>> refit(model, batches) is model
    True
    """
    call = call or _default_call
    layers = _norms(model)
    if not layers:
        raise ValueError("`model` has no normalisation layer with running statistics")
    if iter(loader) is loader:
        raise TypeError("`loader` can be gone through only once: pass a list, or a DataLoader")
    recorder = _Recorder(layers)
    handles = [layer.register_forward_pre_hook(recorder.hook, with_kwargs=True) for layer in layers]
    # Modules, not the root alone: a part of the model that was frozen in evaluation mode stays so.
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        while recorder.waiting:
            batches = 0
            for batch in loader:
                batches += 1
                with contextlib.suppress(_Reached):
                    call(model, batch)
            if not batches:
                raise ValueError("`loader` is empty: statistics need data")
            if not recorder.refit():
                break
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training
    return model
