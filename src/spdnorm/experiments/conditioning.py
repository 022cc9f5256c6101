"""Condition numbers of the features just before and just after a network's normalisation layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .data import Part
from .errors import ConfigError
from .evaluation import CHUNK

__all__ = ["QUANTILES", "THRESHOLDS", "condition_counts", "condition_numbers", "norm_places", "summarize"]

#: Those of the paper's table.
THRESHOLDS = (1e3, 1e4, 1e5)
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def condition_numbers(x: Tensor) -> Tensor:
    """Return largest over smallest eigenvalue, (...,) of SPD matrices (..., n, n); infinite on the boundary."""
    values = torch.linalg.eigvalsh(x.to(torch.float64))
    smallest = values[..., 0]
    return torch.where(smallest > 0, values[..., -1] / smallest, torch.inf)


@torch.no_grad()
def condition_counts(model: nn.Module, parts: Sequence[Part]) -> dict[str, Any]:
    """Count the samples above each threshold, before and after the first normalisation, in evaluation mode.

    Without a normalisation both are the features at its place.
    """
    norm = next(iter(norm_places(model).values()))
    found: dict[str, list[Tensor]] = {"before": [], "after": []}

    def record(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        found["before"].append(condition_numbers(inputs[0]))
        found["after"].append(condition_numbers(output))

    was_training = model.training
    handle = norm.register_forward_hook(record)
    try:
        model.eval()
        for part in parts:
            for start in range(0, len(part), CHUNK):
                model(*part.inputs(slice(start, start + CHUNK)))
    finally:
        handle.remove()
        model.train(was_training)
    return {place: summarize(torch.cat([entry.flatten() for entry in values])) for place, values in found.items()}


def norm_places(model: nn.Module) -> dict[str, nn.Module]:
    """Return what normalises after each bilinear map of a network, by name; the identity where nothing does."""
    found = {
        f"{name}.norm".lstrip("."): norm
        for name, module in model.named_modules()
        if isinstance(norm := getattr(module, "norm", None), nn.Module) and hasattr(module, "bimap")
    }
    if not found:
        raise ConfigError(
            f"condition numbers: {type(model).__name__} has no bilinear map with a normalisation after it"
        )
    return found


def summarize(kappa: Tensor) -> dict[str, Any]:
    """Count condition numbers (N,) above each threshold, and find their quantiles."""
    finite = kappa.clamp(max=torch.finfo(torch.float64).max)
    quantiles = torch.quantile(finite, torch.tensor(QUANTILES, dtype=torch.float64, device=kappa.device))
    return {
        "samples": kappa.numel(),
        "above": {f"{threshold:.0e}": int((kappa > threshold).sum()) for threshold in THRESHOLDS},
        "quantiles": quantiles.tolist(),
    }
