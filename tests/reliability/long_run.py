"""Training at a large learning rate on ill-conditioned data: nothing leaves the manifolds, nothing piles up."""

from __future__ import annotations

import gc
import resource

import torch

from spdnorm import optim
from spdnorm.models import SPDNet
from spdnorm.testing import spd_matrices

STEPS, SAMPLES, SIZES = 20_000, 24, (8, 6, 4)


def worst_of(net: SPDNet) -> dict[str, float]:
    """Departures from what must hold: parameters are definite, running means semi-definite up to rounding."""
    skew, least, singular, drift = 0.0, float("inf"), float("inf"), 0.0
    for block in net.blocks:
        w = block.bimap.weight.detach()
        drift = max(drift, (w @ w.mT - torch.eye(len(w), dtype=w.dtype)).abs().max().item())
        # The mean of what M^-1/2 . M^-1/2 makes of nearly singular samples lies on the boundary, where it may.
        mean = block.norm.running_mean
        for x in (block.norm.bias.detach(), block.norm.metric.detach(), mean):
            skew = max(skew, ((x - x.mT).abs().max() / x.abs().max()).item())
            values = torch.linalg.eigvalsh(x)
            if x is not mean:
                least = min(least, values[0].item())
            singular = min(singular, (values[0] / values[-1]).item())
    return {"skew": skew, "least": least, "singular": singular, "drift": drift}


def train(net: SPDNet, optimizer: torch.optim.Optimizer, steps: int) -> list[int]:
    """Returns the process's peak memory (kB) a quarter of the way in, and at the end."""
    x = torch.cat([spd_matrices(SIZES[0], SAMPLES, condition=c, seed=int(c) % 97) for c in (1e3, 1e7, 1e11)])
    y = torch.arange(len(x)) % 3
    generator, peaks = torch.Generator().manual_seed(0), []
    for step in range(steps):
        batch = torch.randperm(len(x), generator=generator)[:12]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        if step in (steps // 4, steps - 1):
            gc.collect()
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            assert torch.isfinite(loss), step
    return peaks


def check(net: SPDNet, peaks: list[int]) -> dict[str, float]:
    """Assert what must hold; returns what was found."""
    found = worst_of(net)
    assert found["skew"] < 1e-12
    assert found["least"] > 0
    assert found["singular"] > -1e-13
    assert found["drift"] < 1e-8
    assert all(torch.isfinite(value).all() for value in net.state_dict().values())
    # A tensor of a step kept alive would be some 20 kB a step, 300 MB in all.
    assert peaks[1] - peaks[0] < 20_000, peaks
    return {**found, "steps": STEPS, "peak_kb": peaks[1], "growth_kb": peaks[1] - peaks[0]}


def make(*, manifold: bool) -> tuple[SPDNet, torch.optim.Optimizer]:
    torch.manual_seed(0)
    net = SPDNet(SIZES, 3, norm="gbw", norm_options={"theta": 0.5}, parametrized=not manifold, dtype=torch.float64)
    name, lr = ("sgd", 0.1) if manifold else ("torch-adam", 0.05)
    return net, optim.get(name, net, lr=lr)
