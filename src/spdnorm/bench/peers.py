"""Layers of other packages that do the same work, where they are installed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import torch
from torch import nn

#: Name in the tables -> module, class and how it is made.
_LAYERS: dict[str, tuple[str, str]] = {
    "spd-learn mean+variance": ("spd_learn.modules", "SPDBatchNormMeanVar"),
    "spd-learn mean": ("spd_learn.modules", "SPDBatchNormMean"),
}


def peer_layers(n: int, *, device: torch.device, dtype: torch.dtype) -> Iterator[tuple[str, nn.Module]]:
    """Normalisation layers for n x n matrices, by name; a package that is missing is left out."""
    for name, (module, kind) in _LAYERS.items():
        try:
            layer: Callable[[int], nn.Module] = getattr(importlib.import_module(module), kind)
        except ImportError:
            continue
        yield name, layer(n).to(device=device, dtype=dtype)


def peer_names() -> list[str]:
    """Packages that the tables compare with."""
    return ["spd-learn", "geoopt", "pyriemann"]
