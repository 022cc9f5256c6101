"""The networks and the optimisers on a GPU: the same path as on the CPU."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from spdnorm import optim
from spdnorm.geometry import random_spd
from spdnorm.models import EEGSPDNet, RResNet, SPDNet
from spdnorm.nn import norm_names

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")

NETWORKS = {
    "spdnet": lambda **options: SPDNet((10, 8, 6), 3, **options),
    "channels": lambda **options: SPDNet((10, 6), 3, channels=2, **options),
    "rresnet": lambda **options: RResNet((10, 6), 3, **options),
    "eegspdnet": lambda **options: EEGSPDNet(4, 3, dims=(10, 6), spatial_filters=7, **options),
}


def inputs(network: str) -> torch.Tensor:
    g = torch.Generator().manual_seed(1)
    if network == "eegspdnet":
        return torch.randn(12, 4, 60, generator=g, dtype=torch.float64)
    return random_spd(10, 12, *([2] if network == "channels" else []), condition=20.0, generator=g)


def losses(model: nn.Module, optimizer: str, x: torch.Tensor) -> torch.Tensor:
    descent = optim.get(optimizer, model, lr=1e-2)
    y = torch.arange(len(x), device=x.device) % 3
    found = []
    for _ in range(5):
        descent.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        descent.step()
        found.append(loss.detach())
    return torch.stack(found).cpu()


@pytest.mark.parametrize("optimizer", ["torch-adam", "sgd", "amsgrad"])
@pytest.mark.parametrize("norm", norm_names())
@pytest.mark.parametrize("network", NETWORKS)
def test_descends_as_on_the_cpu(network: str, norm: str, optimizer: str) -> None:
    torch.manual_seed(0)
    model = NETWORKS[network](norm=norm, parametrized=optimizer.startswith("torch"), dtype=torch.float64)
    on_gpu, x = copy.deepcopy(model).cuda(), inputs(network)
    torch.testing.assert_close(losses(on_gpu, optimizer, x.cuda()), losses(model, optimizer, x), rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(on_gpu.eval()(x.cuda()).cpu(), model.eval()(x), rtol=1e-5, atol=1e-7)
