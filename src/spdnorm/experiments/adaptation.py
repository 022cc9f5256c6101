"""Unlabelled adaptation: statistics of the part that is evaluated in place of those of training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from ..nn import refit
from .buffers import restored_buffers
from .data import Part

__all__ = ["adapted"]


@contextmanager
def adapted(model: nn.Module, part: Part) -> Iterator[None]:
    """Give every normalisation of ``model`` the exact statistics of ``part`` for the length of a block.

    Source-free and unlabelled: nothing of the training part and no label of ``part`` is looked at, and no weight moves
    (Kobler et al. 2022, for domain-specific statistics; a network with one set of them is recentred likewise).
    """
    with restored_buffers(model):
        refit(model, [part.inputs(slice(None))], call=lambda network, inputs: network(*inputs))
        yield
