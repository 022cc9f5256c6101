"""Two classes of SPD matrices about centres that differ, and a training loop."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spdnorm.geometry import random_spd
from spdnorm.linalg import expm, symmetrize


def two_classes(count: int = 200, size: int = 12, *, dtype: torch.dtype, seed: int = 0) -> tuple[Tensor, Tensor]:
    """``2 * count`` matrices, shuffled: L exp(noise) L^T about two centres L L^T."""
    g = torch.Generator().manual_seed(seed)

    def noise(amount: float, *shape: int) -> Tensor:
        return expm(symmetrize(amount * torch.randn(*shape, size, size, generator=g, dtype=torch.float64)))

    first = torch.linalg.cholesky(random_spd(size, condition=20.0, generator=g))
    second = first @ torch.linalg.cholesky(noise(0.3))
    x = torch.cat([root @ noise(0.35, count) @ root.mT for root in (first, second)])
    order = torch.randperm(2 * count, generator=g)
    return symmetrize(x[order]).to(dtype), torch.arange(2).repeat_interleave(count)[order]


def fit(
    model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, *, steps: int, batch: int = 30
) -> None:
    """Cross-entropy on random batches; leaves the model in evaluation mode."""
    g = torch.Generator().manual_seed(1)
    model.train()
    for _ in range(steps):
        rows = torch.randperm(len(x), generator=g)[:batch]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    model.eval()


@torch.no_grad()
def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    return (model(x).argmax(1) == y).double().mean().item()
