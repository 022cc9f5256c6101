"""Averages over samples, as a value that statistics are written with.

A Frechet mean needs its samples only through averages over them: handing the average in makes the weighted, the
batch and the all-reduced statistics one piece of code.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from spdnorm.linalg import checks_active

#: Maps per-sample tensors (N, ...) to their average (...) over axis 0.
Average = Callable[[Tensor], Tensor]


def plain_average(x: Tensor) -> Tensor:
    """Unweighted mean over axis 0.

    Examples
    --------
    >>> from spdnorm.geometry import plain_average
    >>> plain_average(torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    return x.mean(0)


def weighted_average(xs: Tensor, weights: Tensor | None) -> tuple[Average, Tensor]:
    """The average with these weights, and the weights (N, ..., 1, 1), normalised, samples first.

    Parameters
    ----------
    xs : Tensor, shape (..., N, n, n)
    weights : Tensor, shape (..., N), optional

    Examples
    --------
    >>> from spdnorm.geometry import weighted_average
    >>> xs = torch.stack([torch.eye(2), 5 * torch.eye(2)])
    >>> average, weights = weighted_average(xs, torch.tensor([3.0, 1.0]))
    >>> average(xs)
    tensor([[2., 0.],
            [0., 2.]])
    """
    count = xs.shape[-3]
    if weights is None:
        return plain_average, xs.new_full((count, 1, 1), 1.0 / max(count, 1))
    _check_weights(weights, count)
    w = weights.to(xs.dtype).movedim(-1, 0)
    w = (w / w.sum(0))[..., None, None]

    def average(x: Tensor) -> Tensor:
        # Samples lead and matrices end; batch dimensions that the weights lack go between.
        missing = x.dim() - w.dim()
        aligned = w.reshape(w.shape[:1] + (1,) * missing + w.shape[1:]) if missing > 0 else w
        return (aligned * x).sum(0)

    return average, w


def _check_weights(weights: Tensor, count: int) -> None:
    if not isinstance(weights, Tensor):
        raise TypeError(f"`weights` must be a torch.Tensor, got {type(weights).__name__}: wrap it with torch.as_tensor")
    if weights.shape[-1:] != (count,):
        raise ValueError(f"`weights` must have shape (..., {count}) to match `xs`, got {tuple(weights.shape)}")
    if not checks_active(weights) or weights.numel() == 0:
        return
    least, total = torch.stack([weights.detach().amin(), weights.detach().sum(-1).amin()]).tolist()
    if not least >= 0:
        raise ValueError(f"`weights` must not be negative or NaN, the least is {least:g}")
    if total == 0:
        raise ValueError("`weights` must not sum to zero: no sample would count")
