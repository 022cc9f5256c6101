"""What each process computes, and the same for one process with the whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from spdnorm.models import SPDNet
from spdnorm.nn import (
    BWBatchNorm,
    DomainBatchNorm,
    GBWBatchNorm,
    LieBatchNorm,
    ManifoldNorm,
    RiemannianBatchNorm,
    SPDBatchNorm,
    SPDMomentumBatchNorm,
    convert_sync_batchnorm,
)
from spdnorm.testing import spd_matrices
from spdnorm.testing.norm_laws import randomize

N, SAMPLES, STEPS = 4, 9, 20

#: Every method, variant and route through the code that has statistics of its own.
LAYERS: dict[str, Callable[..., RiemannianBatchNorm]] = {
    "gbw": GBWBatchNorm,
    "gbw-theta-half": lambda n, **o: GBWBatchNorm(n, theta=0.5, **o),
    "gbw-learnable-theta": lambda n, **o: GBWBatchNorm(n, theta=0.5, learn_theta=True, **o),
    "gbw-reference": lambda n, **o: GBWBatchNorm(n, theta=0.5, variant="reference", **o),
    "gbw-detached": lambda n, **o: GBWBatchNorm(n, stats_grad=False, **o),
    "gbw-two-steps": lambda n, **o: GBWBatchNorm(n, mean_iterations=2, **o),
    "gbw-converged": lambda n, **o: GBWBatchNorm(n, mean_iterations=None, **o),
    "gbw-cumulative": lambda n, **o: GBWBatchNorm(n, momentum=None, **o),
    "gbw-untracked": lambda n, **o: GBWBatchNorm(n, track_running_stats=False, **o),
    "bw": BWBatchNorm,
    "spd": SPDBatchNorm,
    "spd-converged": lambda n, **o: SPDBatchNorm(n, mean_iterations=None, **o),
    "spdm": SPDMomentumBatchNorm,
    "manifold-aim": lambda n, **o: ManifoldNorm(n, algorithm=2, **o),
    "manifold-aim-first": lambda n, **o: ManifoldNorm(n, floor=1e-4, **o),
    "manifold-lem": lambda n, **o: ManifoldNorm(n, metric="lem", algorithm=2, **o),
    "lie-aim": LieBatchNorm,
    "lie-aim-theta": lambda n, **o: LieBatchNorm(n, theta=0.5, **o),
    "lie-lem": lambda n, **o: LieBatchNorm(n, metric="lem", **o),
    "lie-lcm": lambda n, **o: LieBatchNorm(n, metric="lcm", theta=0.5, **o),
}
WITH_CHANNELS = ("gbw", "spdm", "lie-lcm")
WITH_DOMAINS = ("gbw", "spdm", "manifold-lem")

Result = dict[str, Tensor]


def splits(world: int) -> list[list[int]]:
    """Unequal batches, and batches of the last process alone."""
    uneven = {2: [5, 4], 4: [4, 0, 2, 3]}[world]
    return [uneven, [*[0] * (world - 1), SAMPLES]]


def part(sizes: Sequence[int] | None, rank: int) -> slice:
    """Rows of a process; ``sizes=None`` is one process with all of them."""
    return slice(None) if sizes is None else slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))


def summed(value: Tensor, sizes: Sequence[int] | None) -> Tensor:
    if sizes is not None:
        dist.all_reduce(value)
    return value


def steps(layer: nn.Module, *, lead: tuple[int, ...] = (), domains: Tensor | None, sizes: Any, rank: int) -> Result:
    """Two training steps, a refit, and a step of evaluation: all that comes out, gradients to second order."""
    rows, out = part(sizes, rank), {}
    if sizes is not None:
        convert_sync_batchnorm(layer)
    for step in range(2):
        whole = spd_matrices(N, SAMPLES, *lead, condition=8.0, seed=step)
        # Far from one another, so that the composition folds for some samples and not for others.
        whole = whole * torch.logspace(-1, 1, SAMPLES, dtype=whole.dtype).reshape(-1, *[1] * (len(lead) + 2))
        weight = spd_matrices(N, SAMPLES, *lead, seed=10 + step)[rows]
        x = whole[rows].clone().requires_grad_()
        y = layer(x) if domains is None else layer(x, domains[rows])
        (first,) = torch.autograd.grad((weight * y).sum(), x, create_graph=True)
        out |= {f"{step}.y": y.detach(), f"{step}.x.grad": first.detach()}
        (second,) = torch.autograd.grad(first.square().sum(), x, retain_graph=True)
        out[f"{step}.x.second"] = second
        layer.zero_grad()
        (weight * y).sum().backward()
        for name, value in layer.named_parameters():
            out[f"{step}.{name}.grad"] = summed(value.grad.clone(), sizes)
        out |= {f"{step}.{name}": value.clone() for name, value in layer.named_buffers()}
    if "running_mean" in dict(layer.named_buffers()):
        layer.refit(whole[rows]) if domains is None else layer.refit(whole[rows], domains[rows])
        out |= {f"refit.{name}": value.clone() for name, value in layer.named_buffers()}
        layer.eval()
        out["eval.y"] = (layer(x) if domains is None else layer(x, domains[rows])).detach()
    return out


def all_layers(sizes: list[int] | None, rank: int = 0) -> dict[str, Result]:
    """Every layer through :func:`steps`."""
    found, domains = {}, torch.tensor([0, 2, 2, 0, 2, 0, 0, 2, 2])
    for name, make in LAYERS.items():
        arguments = {"sizes": sizes, "rank": rank}
        found[name] = steps(randomize(make(N, dtype=torch.float64)), domains=None, **arguments)
        if name in WITH_CHANNELS:
            layer = randomize(make(N, channels=3, dtype=torch.float64))
            found[f"{name}, channels"] = steps(layer, lead=(3,), domains=None, **arguments)
        if name in WITH_DOMAINS:
            layer = DomainBatchNorm(randomize(make(N, dtype=torch.float64)), 3)
            found[f"{name}, domains"] = steps(layer, domains=domains, **arguments)
    return found


def nothing_anywhere() -> bool:
    """Whether a batch that is empty in all processes leaves a layer as it was."""
    layer = convert_sync_batchnorm(GBWBatchNorm(N, dtype=torch.float64))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    out = layer(torch.empty(0, N, N, dtype=torch.float64))
    return out.shape == (0, N, N) and all(torch.equal(before[k], v) for k, v in layer.state_dict().items())


def trained(sizes: list[list[int]] | None, rank: int = 0) -> Result:
    """SPDNet's parameters and buffers after SGD steps with DDP, the split of the batch changing from step to step."""
    torch.manual_seed(0)
    net = SPDNet((8, 6, 4), 3, norm="gbw", norm_options={"theta": 0.5}, dtype=torch.float64)
    model: nn.Module = net
    if sizes is not None:
        model = DistributedDataParallel(convert_sync_batchnorm(net))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    labels = torch.arange(SAMPLES) % 3
    for step in range(STEPS):
        x = spd_matrices(8, SAMPLES, condition=20.0, seed=step) * (1 + labels[:, None, None])
        rows = part(None if sizes is None else sizes[step % len(sizes)], rank)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), labels[rows], reduction="sum") / SAMPLES
        # DDP divides the sum of the processes' gradients by their number.
        (loss * (1 if sizes is None else dist.get_world_size())).backward()
        optimizer.step()
    return {name: value.detach().clone() for name, value in net.state_dict().items()}


def process(rank: int, world: int, folder: str) -> None:
    """Entry of a spawned process: everything, for every split, into a file."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    result: dict[str, Any] = {"layers": [all_layers(sizes, rank) for sizes in splits(world)]}
    result |= {"nothing": nothing_anywhere(), "trained": trained(splits(world), rank)}
    torch.save(result, Path(folder) / f"{rank}.pt")
    dist.destroy_process_group()
