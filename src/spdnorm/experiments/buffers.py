"""Buffers of a network as they were, after something that moves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

__all__ = ["restored_buffers"]


@contextmanager
def restored_buffers(model: nn.Module) -> Iterator[None]:
    """Put every buffer back at the end of the block, however it ends."""
    saved = {name: buffer.clone() for name, buffer in model.named_buffers()}
    try:
        yield
    finally:
        # In place: an optimiser, a captured graph or a view may hold the very buffers.
        for name, buffer in model.named_buffers():
            buffer.copy_(saved[name])
