"""Checkpoints: whole or not at all, and readable without running anybody's code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .errors import CheckpointError
from .files import atomic

__all__ = ["load_checkpoint", "save_checkpoint"]

FORMAT = 2


def _scores(state: dict[str, Any]) -> dict[str, Any]:
    """Format 1 compared epochs by their loss alone, and evaluated the trained network itself."""
    if "history" in state:
        state["evaluated"] = {}
    if best := state.get("best_loss"):
        state["best_score"] = [
            (loss,) if epoch else None for loss, epoch in zip(best, state["best_epoch"], strict=True)
        ]
    elif (best := state.get("best")) is not None and "loss" in best:
        best["score"] = (best.pop("loss"),)
    return state


#: From each earlier format, what makes its state one of the next.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {1: _scores}


def save_checkpoint(path: Path, state: dict[str, Any], *, config_hash: str) -> None:
    """Write ``state`` (tensors, numbers, strings, and lists, tuples and dicts of them) atomically."""
    with atomic(path) as stream:
        torch.save({"format": FORMAT, "config": config_hash, **state}, stream)


def load_checkpoint(path: Path, *, config_hash: str, device: torch.device | str = "cpu") -> dict[str, Any] | None:
    """Return the state, or None where there is no checkpoint; one of another run or a damaged one is an error."""
    if not path.exists():
        return None
    try:
        state = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # a damaged file may fail in any way: as an archive, a pickle, a tensor
        raise CheckpointError(f"{path} cannot be read ({error}); remove it to start the run over") from error
    if not isinstance(state, dict):
        raise CheckpointError(f"{path} is no checkpoint; remove it to start the run over")
    while state.get("format") in MIGRATIONS and state["format"] < FORMAT:
        state = {**MIGRATIONS[state["format"]](state), "format": state["format"] + 1}
    if state.get("format") != FORMAT or state.get("config") != config_hash:
        raise CheckpointError(
            f"{path} belongs to configuration {state.get('config')!r}, format {state.get('format')!r}, not to "
            f"{config_hash!r}, format {FORMAT}; remove it to start the run over"
        )
    return state
