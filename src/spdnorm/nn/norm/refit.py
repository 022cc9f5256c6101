"""Exact statistics over a data set in place of running ones."""

from __future__ import annotations

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


class _Recorder:
    """Keeps what a layer is called with, and remembers which layer was called first."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.calls: dict[int, list[tuple[Any, ...]]] = {}
        self.recorded: int | None = None

    def hook(self, module: nn.Module, args: tuple[Any, ...]) -> None:
        key = id(module)
        if key not in self.order:
            self.order.append(key)
        if key == self.recorded:
            self.calls.setdefault(key, []).append(tuple(a.detach() for a in args))


@torch.no_grad()
def refit(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    call: Callable[[nn.Module, Any], Any] | None = None,
) -> nn.Module:
    """Give every normalisation layer of ``model`` the exact statistics of its inputs over ``loader``.

    Layers are refitted in the order in which the data meet them, each on inputs normalised by the exact statistics of
    the ones before, with the barycentre iterated to convergence. All inputs of one layer are held in memory.

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
    layers = {id(layer): layer for layer in _norms(model)}
    if not layers:
        raise ValueError("`model` has no normalisation layer with running statistics")
    recorder = _Recorder()
    handles = [layer.register_forward_pre_hook(recorder.hook) for layer in layers.values()]
    # Modules, not the root alone: a part of the model that was frozen in evaluation mode stays so.
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        _allow_unseen(layers, training=True)
        first = next(iter(loader), None)
        if first is None:
            raise ValueError("`loader` is empty: statistics need data")
        saved = {k: v.clone() for k, v in model.state_dict().items()}
        call(model, first)
        model.load_state_dict(saved)
        for key in list(recorder.order):
            recorder.recorded = key
            for batch in loader:
                call(model, batch)
            layer = layers[key]
            inputs = [torch.cat(parts) for parts in zip(*recorder.calls.pop(key), strict=True)]
            layer.refit(*inputs)  # type: ignore[operator]
            layer.eval()
    finally:
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training
    return model


def _allow_unseen(layers: dict[int, nn.Module], *, training: bool) -> None:
    """Domain layers refuse domains without statistics in evaluation: until they are refitted, let them train."""
    for layer in layers.values():
        if isinstance(layer, DomainBatchNorm):
            layer.train(training)
