"""Devices, and one network over several processes."""

from __future__ import annotations

import os

import torch
from lightning_fabric import Fabric
from torch import nn

from .errors import ConfigError
from .execution import Execution

__all__ = ["make_fabric", "synchronized"]


def make_fabric(execution: Execution, *, precision: str) -> Fabric:
    """Return Lightning Fabric on the devices asked for, launched where they are several; ``precision`` as its own."""
    devices = {name: getattr(execution, name) for name in ("accelerator", "devices", "strategy")}
    # `fabric run` says these in the environment, where Fabric reads them; it takes no others, and has launched already.
    launched = "LT_DEVICES" in os.environ
    try:
        fabric = Fabric(
            **{name: value for name, value in devices.items() if f"LT_{name.upper()}" not in os.environ},
            precision="32-true" if precision == "true" else precision,  # type: ignore[arg-type]
        )
    except (RuntimeError, ValueError) as error:
        raise ConfigError(f"accelerator {execution.accelerator!r}: {error}") from None
    if execution.devices > 1 and not launched:
        fabric.launch()
    return fabric


def synchronized(model: nn.Module) -> nn.Module:
    """Return the network with statistics taken over the batches of all processes.

    Euclidean batch normalisation is converted on CUDA only: torch has no synchronised one for the CPU, where each
    process keeps to its own part of the batch.
    """
    from ..nn import convert_sync_batchnorm

    model = convert_sync_batchnorm(model)
    return nn.SyncBatchNorm.convert_sync_batchnorm(model) if torch.cuda.is_available() else model
