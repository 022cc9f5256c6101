"""Keep autocast out: inside the library nothing runs below float32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")

_HALF = (torch.float16, torch.bfloat16)


def _raise_half(value: Any) -> Any:
    return value.float() if isinstance(value, Tensor) and value.dtype in _HALF else value


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """Run ``function`` with autocast off, half-precision tensor arguments raised to float32.

    An eigendecomposition or a product in bfloat16 has three digits; autocast would lower every product of a
    geometry to it. Outside autocast the wrapper costs one look at a flag. Backward passes wear it too, for whom takes
    gradients inside the block, where autocast lowers products on the way back whatever it was on the way here.

    Examples
    --------
    >>> from spdnorm.linalg import full_precision
    >>> product = full_precision(torch.matmul)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     product(torch.eye(2), torch.eye(2)).dtype
    torch.float32
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if not (torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")):
            return function(*args, **kwargs)
        raised = [_raise_half(a) for a in args]
        named = {k: _raise_half(v) for k, v in kwargs.items()}
        with torch.autocast("cpu", enabled=False), torch.autocast("cuda", enabled=False):
            return function(*raised, **named)

    return wrapper
