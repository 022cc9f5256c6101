"""PyTorch: SPDNet with each normalisation on two classes of matrices, parametrised weights, torch's own Adam."""

from __future__ import annotations

import torch
from torch import nn

from spdnorm.geometry import random_spd
from spdnorm.linalg import expm, symmetrize
from spdnorm.models import SPDNet

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)


def noise(amount: float, *shape: int) -> torch.Tensor:
    return expm(symmetrize(amount * torch.randn(*shape, 12, 12, generator=generator, dtype=torch.float64)))


first = torch.linalg.cholesky(random_spd(12, condition=20.0, generator=generator))
second = first @ torch.linalg.cholesky(noise(0.3))
y = torch.arange(400) % 2
x = symmetrize(torch.stack([first, second])[y] @ noise(0.35, 400) @ torch.stack([first, second])[y].mT)

for norm, options in (("none", {}), ("gbw", {"theta": 0.5}), ("spd", {}), ("spdm", {}), ("lie", {"metric": "lem"})):
    torch.manual_seed(0)
    model = SPDNet((12, 8), 2, norm=norm, norm_options=options, dtype=torch.float64)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        rows = torch.randperm(200)[:30]
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    model.eval()
    accuracy = (model(x[200:]).argmax(1) == y[200:]).double().mean()
    print(f"SPDNet with {norm:5} {options!s:18} accuracy {accuracy:.3f}")
