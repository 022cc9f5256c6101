"""What the targets share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import finite

Target = Callable[[Case], Iterator[str]]


def spd_parameter(rng: random.Random, n: int, condition: float, like: Tensor) -> Tensor:
    """A matrix of this condition number, largest eigenvalue 1."""
    case = Case(
        seed=rng.randrange(2**31), n=n, batch=1, dtype=torch.float64, kind="generic", condition=condition, scale=1.0
    )
    return matrices(case)[0].to(like)


def gradients(out: Tensor, x: Tensor, module: nn.Module | None) -> Iterator[str]:
    """Gradients of a weighted sum by input and parameters must be finite."""
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(0), dtype=out.dtype)
    size = out.detach().abs().amax()
    loss = (out * weight).sum() / torch.where(size > 0, size, 1.0)
    loss.backward()
    if x.grad is not None:
        yield from finite("gradient of x", x.grad)
    for name, value in module.named_parameters() if module is not None else ():
        if value.grad is not None:
            yield from finite(f"gradient of {name}", value.grad)
