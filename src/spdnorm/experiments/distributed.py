"""One network over several processes."""

from __future__ import annotations

import torch
from torch import nn

__all__ = ["synchronized"]


def synchronized(model: nn.Module) -> nn.Module:
    """Return the network with statistics taken over the batches of all processes.

    Euclidean batch normalisation is converted on CUDA only: torch has no synchronised one for the CPU, where each
    process keeps to its own part of the batch.
    """
    from ..nn import convert_sync_batchnorm

    model = convert_sync_batchnorm(model)
    return nn.SyncBatchNorm.convert_sync_batchnorm(model) if torch.cuda.is_available() else model
