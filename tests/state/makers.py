"""Every layer and network that has state: how to make it, and what to feed it. Also writes the stored checkpoints.

``python -m tests.state.makers VERSION`` writes what tests/state/fixtures/VERSION does not have; stored files are never
written again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from spdnorm import nn as spd
from spdnorm.models import MBEEGSE, EEGFrontEnd, EEGSPDNet, RResNet, SPDNet, TCNetFusion
from spdnorm.models.euclidean.mbeeg_se import Branch
from spdnorm.testing import spd_matrices

FIXTURES = Path(__file__).parent / "fixtures"
N = 3
F64 = {"dtype": torch.float64}

MODULES: dict[str, Callable[[], nn.Module]] = {
    "gbw": lambda: spd.GBWBatchNorm(N, theta=0.5, **F64),
    "gbw-learnable-theta": lambda: spd.GBWBatchNorm(N, learn_theta=True, **F64),
    "gbw-reference": lambda: spd.GBWBatchNorm(N, variant="reference", **F64),
    "gbw-manifold": lambda: spd.GBWBatchNorm(N, parametrized=False, **F64),
    "gbw-channels": lambda: spd.GBWBatchNorm(N, channels=2, **F64),
    "bw": lambda: spd.BWBatchNorm(N, **F64),
    "spd": lambda: spd.SPDBatchNorm(N, **F64),
    "spdm": lambda: spd.SPDMomentumBatchNorm(N, **F64),
    "manifold": lambda: spd.ManifoldNorm(N, algorithm=2, **F64),
    "lie": lambda: spd.LieBatchNorm(N, **F64),
    "lie-lcm": lambda: spd.LieBatchNorm(N, metric="lcm", **F64),
    "domain": lambda: spd.DomainBatchNorm(spd.SPDMomentumBatchNorm(N, **F64), 2),
    "bimap": lambda: spd.BiMap(N, 2, **F64),
    "bimap-manifold": lambda: spd.BiMap(N, 2, parametrized=False, **F64),
    "residual": lambda: spd.RiemannianResidual(N, **F64),
    "spdnet": lambda: SPDNet((N, 2), 2, norm="gbw", **F64),
    "spdnet-manifold": lambda: SPDNet((N, 2), 2, norm="gbw", parametrized=False, **F64),
    "rresnet": lambda: RResNet((N, 2), 2, norm="lie", **F64),
    "residual-manifold": lambda: spd.RiemannianResidual(N, parametrized=False, **F64),
    "rresnet-manifold": lambda: RResNet((N, 2), 2, norm="gbw", parametrized=False, **F64),
    "eeg-front-end": lambda: EEGFrontEnd(3, spatial_filters=2, out_features=4, kernel_size=5, **F64),
    "tcnet-fusion": lambda: TCNetFusion(3, 2, 64, filters=4, tcn_filters=3).double(),
    "mbeeg-se": lambda: MBEEGSE(3, 2, 64, branches=(Branch(2, 16, 0.0, 2), Branch(4, 32, 0.1, 2))).double(),
    "eegspdnet": lambda: EEGSPDNet(3, 2, 64, dims=(4, 3), spatial_filters=2, kernel_size=5, norm="gbw", **F64),
}

#: These take signals.
ON_SIGNALS = ("eegspdnet", "eeg-front-end", "tcnet-fusion", "mbeeg-se")


def inputs(name: str) -> tuple[Tensor, ...]:
    if name in ON_SIGNALS:
        return (torch.randn(4, 3, 64, generator=torch.Generator().manual_seed(1), dtype=torch.float64),)
    x = spd_matrices(N, 6, *((2,) if "channels" in name else ()), condition=5.0, seed=3)
    return (x, torch.tensor([0, 1, 0, 1, 1, 0])) if name == "domain" else (x,)


def trained(name: str) -> nn.Module:
    """After two steps of training, so that nothing is at its start."""
    torch.manual_seed(0)
    module = MODULES[name]()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    for _ in range(2):
        optimizer.zero_grad()
        out = module(*inputs(name))
        (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum().backward()
        if not name.endswith("manifold"):
            optimizer.step()
    return module.eval()


def write(version: str) -> None:
    folder = FIXTURES / version
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        if (folder / f"{name}.pt").exists():
            continue
        module = trained(name)
        with torch.no_grad():
            torch.save({"state": module.state_dict(), "output": module(*inputs(name))}, folder / f"{name}.pt")


if __name__ == "__main__":
    write(sys.argv[1])
