"""Optimisers and learning-rate schedules by configuration."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau, StepLR

from .. import optim
from .config import OptimConfig, ScheduleConfig
from .errors import ConfigError

__all__ = ["Schedule", "freeze", "make_optimizer", "make_schedule", "make_stacked_optimizer"]


class Schedule:
    """A learning-rate schedule that is told the loss after every epoch, whether it looks at it or not."""

    def __init__(self, scheduler: Any = None) -> None:
        self.scheduler = scheduler

    def step(self, loss: float) -> None:
        """Move on by one epoch."""
        if isinstance(self.scheduler, ReduceLROnPlateau):
            self.scheduler.step(loss)
        elif self.scheduler is not None:
            self.scheduler.step()

    def state_dict(self) -> dict[str, Any]:
        """Return the state, empty without a schedule."""
        return {} if self.scheduler is None else self.scheduler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state)


def freeze(model: nn.Module, patterns: Sequence[str]) -> None:
    """Keep the parameters whose names match at their start; a pattern that matches none is an error."""
    names = [name for name, _ in model.named_parameters()]
    for pattern in patterns:
        matching = fnmatch.filter(names, pattern)
        if not matching:
            raise ConfigError(f"train.freeze: {pattern!r} matches no parameter; there are {', '.join(names)}")
        for name in matching:
            model.get_parameter(name).requires_grad_(False)


def make_optimizer(model: nn.Module, config: OptimConfig) -> Optimizer:
    """Return the optimiser of a network's parameters; weight decay falls on Euclidean weights only."""
    try:
        return optim.get(config.name, model, lr=config.lr, weight_decay=config.weight_decay, **config.options)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"optim {config.name!r}: {error}") from None


def make_stacked_optimizer(model: nn.Module, stacked: Mapping[str, Tensor], config: OptimConfig) -> Optimizer:
    """Return one optimiser of the stacked parameters of networks like ``model``, grouped as ``model``'s own are.

    torch's optimisers move every number by its own history alone, so that a stack moves as its networks would.
    """
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    optimizer = make_optimizer(model, config)
    for group in optimizer.param_groups:
        group["params"] = [stacked[names[id(parameter)]] for parameter in group["params"]]
    return optimizer


def make_schedule(optimizer: Optimizer, config: ScheduleConfig, *, epochs: int) -> Schedule:
    """Return the learning-rate schedule of an optimiser."""
    if config.name == "step":
        return Schedule(StepLR(optimizer, step_size=config.step_size, gamma=config.gamma))
    if config.name == "cosine":
        return Schedule(CosineAnnealingLR(optimizer, T_max=epochs))
    if config.name == "plateau":
        return Schedule(ReduceLROnPlateau(optimizer, factor=config.gamma, patience=config.patience))
    return Schedule()
