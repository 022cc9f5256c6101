"""Averages over the samples of several processes, by all-reduce of sums; no process ever sees another's samples.

Handed in as an :data:`~spdnorm.geometry.Average`, one of these makes every statistic that is written with averages -
barycentre, variance, their gradients - that of the batches of all processes taken together.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd import Function

from spdnorm.geometry import Average


class _AllReduce(Function):
    """Sum over the processes of ``group``. Its adjoint is itself, so it can be differentiated again and again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        total = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return _AllReduce.apply(grad, ctx.group), None


class SynchronizedAverage:
    """Average over axis 0 of the tensors of all processes; a process may have any number of samples, or none.

    Every process of the group must make the same calls in the same order, and go backward as often.

    Parameters
    ----------
    samples : int
        How many this process has in the coming batch; their sum over the processes is taken here, once.
    device : torch.device
        Where the samples are.
    group : ProcessGroup, optional
        The processes; all of them by default.

    Attributes
    ----------
    total : Tensor, shape ()
        Number of samples of all processes.

    Examples
    --------
    >>> import torch.distributed as dist
    >>> from spdnorm.stats import SynchronizedAverage
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> average = SynchronizedAverage(2)  # of all processes; here there is one
    >>> average(torch.tensor([1.0, 3.0]))
    tensor(2.)
    >>> dist.destroy_process_group()
    """

    def __init__(self, samples: int, *, device: torch.device | str | None = None, group: Any = None) -> None:
        self.group = group
        self.total = torch.full((), samples, dtype=torch.int64, device=device)
        dist.all_reduce(self.total, group=group)

    def __call__(self, x: Tensor) -> Tensor:
        """Per-sample tensors (N, ...) -> their average (...) over all processes."""
        return _AllReduce.apply(x.sum(0), self.group) / self.total


def is_empty(batch: Tensor, average: Average) -> bool:
    """Whether ``average`` has nothing to average: no sample here, nor in any process that it speaks with.

    Examples
    --------
    >>> from spdnorm.geometry import plain_average
    >>> from spdnorm.stats import is_empty
    >>> is_empty(torch.empty(0, 3, 3), plain_average)
    True
    """
    # In this order: the total is looked at, which makes a GPU wait, only where this process has nothing to do.
    return batch.numel() == 0 and (not isinstance(average, SynchronizedAverage) or not bool(average.total))


def anywhere(mask: Tensor, *, group: Any = None) -> Tensor:
    """Elementwise "or" of a boolean mask over the processes of ``group``.

    Examples
    --------
    >>> import torch.distributed as dist
    >>> from spdnorm.stats import anywhere
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> anywhere(torch.tensor([True, False]))
    tensor([ True, False])
    >>> dist.destroy_process_group()
    """
    found = mask.to(torch.uint8)
    dist.all_reduce(found, op=dist.ReduceOp.MAX, group=group)
    return found.bool()
