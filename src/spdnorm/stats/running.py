"""Running statistics: buffers of fixed shape, updated in place.

In place, because a buffer that is replaced by a new tensor breaks ``state_dict`` round trips, views and shared memory.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _writable(buffer: Tensor) -> Tensor:
    # torch 2.11 loses the in-place update of a zero-dimensional buffer when it compiles a training graph (AOTAutograd,
    # any backend), and not that of a view with one dimension. Others may have any strides.
    return buffer.view(1) if buffer.dim() == 0 else buffer


@torch.no_grad()
def write(buffer: Tensor, value: Tensor) -> None:
    """Copy ``value`` (of the buffer's shape) into ``buffer``, in the buffer's dtype.

    Examples
    --------
    >>> from spdnorm.stats import write
    >>> buffer = torch.zeros(2)
    >>> write(buffer, torch.ones(2))
    >>> buffer
    tensor([1., 1.])
    """
    target = _writable(buffer)
    target.copy_(value.detach().reshape(target.shape))


@torch.no_grad()
def update_average(buffer: Tensor, value: Tensor, momentum: float | Tensor) -> None:
    """``buffer <- (1 - momentum) buffer + momentum value`` (paper, Alg. 1).

    Examples
    --------
    >>> from spdnorm.stats import update_average
    >>> buffer = torch.tensor(1.0)
    >>> update_average(buffer, torch.tensor(3.0), 0.5)
    >>> buffer
    tensor(2.)
    """
    target = _writable(buffer)
    # Not (1 - m) b + m v: with a float32 momentum those weights add up to 1 in float32 only, and the average is biased.
    target.copy_(target + momentum * (value.detach().reshape(target.shape) - target))


def momentum_schedule(step: int | Tensor, *, minimum: float, steps: int) -> Tensor:
    """Momentum of SPDMBN in training (Kobler et al. 2022): from 1 at the first step down to ``minimum`` at ``steps``.

    gamma(k) = 1 - rho^(max(K - k, 0) / (K - 1)) + rho with rho = ``minimum`` and K = ``steps``.

    Examples
    --------
    >>> from spdnorm.stats import momentum_schedule
    >>> [round(float(momentum_schedule(k, minimum=0.2, steps=10)), 2) for k in (1, 5, 10, 50)]
    [1.0, 0.79, 0.2, 0.2]
    """
    if not 0 < minimum <= 1:
        raise ValueError(f"`minimum` must lie in (0, 1], got {minimum}")
    if steps < 1:
        raise ValueError(f"`steps` must be 1 or more, got {steps}")
    k = torch.as_tensor(step).to(torch.float32)
    exponent = (steps - k).clamp_min(0) / max(steps - 1, 1)
    return 1 - minimum**exponent + minimum
