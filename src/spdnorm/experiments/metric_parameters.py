"""The metric parameters M of a network's GBWBN layers: where they start, and what pulls them back there."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..linalg import logm
from ..nn import GBWBatchNorm
from .buffers import restored_buffers
from .config import TrainConfig
from .data import Part
from .errors import ConfigError

__all__ = ["MetricPenalty", "start_metrics"]


def learned_metrics(module: nn.Module) -> list[GBWBatchNorm]:
    """Return the layers of a network that have a metric parameter."""
    return [layer for layer in module.modules() if isinstance(layer, GBWBatchNorm) and layer.learn_metric]


class MetricPenalty:
    """weight * sum of |log M - log M_0|^2 over the layers, M_0 being where they stand when this is made."""

    def __init__(self, module: nn.Module, *, weight: float) -> None:
        self.layers, self.weight = learned_metrics(module), weight
        if not self.layers:
            raise ConfigError("train.metric_penalty: this network has no layer with a metric parameter (norm='gbw')")
        self.starts = [self._logarithm(layer).detach() for layer in self.layers]

    def __call__(self) -> Tensor:
        """The penalty (), to be added to the loss."""
        pairs = zip(self.layers, self.starts, strict=True)
        return self.weight * torch.stack([(self._logarithm(a) - b).square().sum() for a, b in pairs]).sum()

    @staticmethod
    def _logarithm(layer: GBWBatchNorm) -> Tensor:
        assert layer.metric is not None
        return logm(layer.metric)


@torch.no_grad()
def start_metrics(module: nn.Module, part: Part, config: TrainConfig) -> None:
    """Put every metric parameter where the configuration wants it, layer by layer in the order of the data.

    The training part goes through the network once, as one batch; running statistics are left as they were.
    """
    if config.metric_start == "identity":
        return
    layers = learned_metrics(module)
    if not layers:
        raise ConfigError("train.metric_start: this network has no layer with a metric parameter (norm='gbw')")

    def start(layer: Any, inputs: tuple[Tensor, ...]) -> None:
        layer.start_metric(inputs[0])

    handles = [layer.register_forward_pre_hook(start) for layer in layers]
    was_training = module.training
    try:
        # Of the part itself: running statistics have seen nothing yet. Dropout must not draw from the run's stream.
        module.train()
        with restored_buffers(module), torch.random.fork_rng(devices=[]):
            module(part.x)
    finally:
        for handle in handles:
            handle.remove()
        module.train(was_training)
