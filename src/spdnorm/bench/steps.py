"""What is timed: one forward and backward pass of a layer, one training step of a network."""

from __future__ import annotations

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
