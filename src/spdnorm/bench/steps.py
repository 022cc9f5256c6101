"""What is timed: one forward and backward pass of a layer, one training step of a network."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def samples(
    count: int, n: int, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float64, seed: int = 0
) -> Tensor:
    """Sample covariances (count, n, n) of 2 n standard normal vectors: condition numbers about 30."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, n, 2 * n, generator=generator, dtype=dtype).to(device)
    return x @ x.mT / (2 * n)


def forward_backward(layer: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], Any]:
    """A call that runs ``layer`` on ``x`` and back to the gradients of all its parameters and of ``x``."""

    def call() -> None:
        leaf = x.detach().clone().requires_grad_()
        out = layer(leaf)
        out.backward(out.detach())

    return call


def training_step(network: nn.Module, x: Tensor, y: Tensor, *, lr: float = 1e-3) -> Callable[[], Any]:
    """A call that makes one step of Adam on the cross-entropy of ``network`` on (x, y)."""
    optimizer = torch.optim.Adam(network.parameters(), lr=lr, capturable=x.is_cuda)

    def call() -> None:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()

    return call


def epoch(network: nn.Module, x: Tensor, y: Tensor, *, batch: int) -> Callable[[], Any]:
    """A call that trains for one epoch, batches drawn on the data's device; on a GPU one captured step, replayed.

    A last batch that is not full is left out.
    """
    current = x[:batch].clone(), y[:batch].clone()
    step = training_step(network, *current)
    if x.is_cuda:
        step = graphed(step)

    def call() -> None:
        order = torch.randperm(len(x), device=x.device)
        for start in range(0, len(x) - batch + 1, batch):
            rows = order[start : start + batch]
            torch.index_select(x, 0, rows, out=current[0])
            torch.index_select(y, 0, rows, out=current[1])
            step()

    return call


def saved_bytes(layer: Callable[[Tensor], Tensor], x: Tensor) -> int:
    """Bytes that a forward pass keeps for the backward pass, each tensor's memory counted once, its input not."""
    leaf = x.detach().clone().requires_grad_()
    known = set(_storages(_tensors()))
    saved: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        saved.append(tensor.detach())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = layer(leaf)
    # What an autograd function keeps as attributes passes no hook, but lives.
    found = _storages([*saved, *_tensors()])
    own = {leaf.untyped_storage().data_ptr(), out.untyped_storage().data_ptr()}
    return sum(size for address, size in found.items() if address not in known | own)


def _tensors() -> list[Tensor]:
    gc.collect()
    return [found for found in gc.get_objects() if issubclass(type(found), Tensor) and found.device.type != "meta"]


def _storages(tensors: list[Tensor]) -> dict[int, int]:
    return {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}


def graphed(call: Callable[[], Any]) -> Callable[[], Any]:
    """The same call as one CUDA graph, replayed: its kernels are launched at once."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()

    def replay() -> None:
        # ``call`` holds the tensors that the graph works on: they must not be freed before it.
        assert call is not None
        graph.replay()

    return replay
