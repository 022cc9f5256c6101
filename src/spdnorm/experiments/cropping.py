"""Windows of signals as augmentation."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["cropped"]


def cropped(x: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Return one window of every signal (N, C, T) of a batch, a ``share`` of it long, begun anywhere.

    The whole at 1, without a draw. A network on covariances takes any length, and sees another estimate of them.
    """
    if share == 1.0:
        return x
    length = max(1, round(share * x.shape[-1]))
    begin = int(torch.randint(x.shape[-1] - length + 1, (), generator=generator))
    return x[..., begin : begin + length]
