"""Statistics over the batches of all processes, for every normalisation layer."""

from __future__ import annotations

from typing import Any, TypeVar

from torch import nn

from spdnorm.nn.norm.base import RiemannianBatchNorm

M = TypeVar("M", bound=nn.Module)


def convert_sync_batchnorm(module: M, process_group: Any = None) -> M:
    """Let every normalisation layer of ``module`` take its statistics over the batches of all processes.

    The counterpart of :meth:`torch.nn.SyncBatchNorm.convert_sync_batchnorm`, for the layers of this library; Euclidean
    layers are left to that. Only sums are exchanged, three n x n matrices or so a layer, never samples; barycentre,
    variance and gradients are those of one process with the whole batch. Local batches may differ in size and be empty.

    As in torch, training alone is synchronised: evaluation uses the running statistics, which are the same in all
    processes. ``refit`` and ``adapt`` of a converted layer take what each process was given as a part of the data, so
    that all of them must be called. Without a process group (a converted network on a single process) nothing changes.

    Parameters
    ----------
    module : Module
        Changed in place; parameters and buffers stay where they are.
    process_group : ProcessGroup, optional
        All processes by default.

    Returns
    -------
    Module
        ``module``.

    Examples
    --------
    >>> from spdnorm.models import SPDNet
    >>> from spdnorm.nn import convert_sync_batchnorm
    >>> net = convert_sync_batchnorm(SPDNet((8, 4), 2, norm="gbw"))
    >>> net.blocks[0].norm.synchronized
    True
    """
    for layer in module.modules():
        if isinstance(layer, RiemannianBatchNorm):
            layer.synchronized = True
            layer.process_group = process_group
    return module
