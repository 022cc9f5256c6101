"""Shapes of batch-norm inputs: samples first, an optional channel axis, matrices last."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import check_symmetric


def to_batch(x: Tensor, channels: int | None) -> Tensor:
    """(..., n, n) -> (N, n, n), or (N, C, n, n) with ``channels=C``; a view where possible."""
    check_symmetric(x, "x")
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"`x` must be float32 or float64, which can be decomposed, got {x.dtype}: call x.float()")
    if x.dim() < 3:
        raise ValueError(f"`x` must have shape (N, n, n) or (N, C, n, n), got {tuple(x.shape)}: add a batch axis")
    n = x.shape[-1]
    if channels is None:
        return x.reshape(-1, n, n) if x.dim() != 3 else x
    if x.dim() < 4 or x.shape[-3] != channels:
        raise ValueError(f"`x` must have shape (N, {channels}, n, n) with channels={channels}, got {tuple(x.shape)}")
    return x.reshape(-1, channels, n, n) if x.dim() != 4 else x


def check_like(name: str, value: Tensor | None, x: Tensor, shape: tuple[int, ...]) -> None:
    """Raise unless a parameter or buffer has this shape and lives where ``x`` does, in its dtype."""
    if value is None:
        return
    if tuple(value.shape) != shape:
        raise ValueError(f"`{name}` must have shape {shape} to match `x`, got {tuple(value.shape)}")
    if value.dtype != x.dtype:
        raise TypeError(
            f"`x` is {x.dtype} and `{name}` is {value.dtype}: call .to({value.dtype}) on x, or on the layer"
        )
    if value.device != x.device:
        raise ValueError(f"`x` is on {x.device} and `{name}` on {value.device}: move one to the other")


def prepare(
    x: Tensor,
    channels: int | None,
    *,
    matrices: dict[str, Tensor | None],
    scalars: dict[str, Tensor | None],
) -> Tensor:
    """Check ``x`` and all that goes with it, and bring it into batch layout.

    ``matrices`` have shape (n, n) or (C, n, n), ``scalars`` () or (C,); they go by the argument names that errors give.
    """
    batch = to_batch(x, channels)
    lead = () if channels is None else (channels,)
    for name, value in matrices.items():
        check_like(name, value, batch, (*lead, *batch.shape[-2:]))
    for name, value in scalars.items():
        check_like(name, value, batch, lead)
    return batch
