"""The network that is evaluated and kept: the trained one, or another with averaged weights or exact statistics."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

from ..nn import RiemannianBatchNorm, refit
from ..optim.groups import is_manifold
from .config import TrainConfig
from .data import Part
from .errors import ConfigError
from .evaluation import CHUNK

__all__ = ["Evaluated", "refit_statistics"]


class Evaluated:
    """What a trainer evaluates: ``module`` itself, or its twin.

    The twin averages free coordinates. Those of an SPD parameter exp(S) are S, so that the average is the
    log-Euclidean mean; those of a map with orthonormal rows are a matrix whose QR factor it is, and the factor of the
    average has orthonormal rows again. Running statistics belong to the weights that made them: the twin's are
    computed anew, over the whole training part.

    Parameters
    ----------
    module : nn.Module
        What is trained; never changed here.
    config : TrainConfig
        ``statistics`` and ``average``.
    part : Part
        The training part.
    """

    def __init__(self, module: nn.Module, config: TrainConfig, part: Part) -> None:
        self.trained, self.part, self.average = module, part, config.average
        #: Epochs that the equal average leaves out.
        self.skipped = int(config.average.start * config.epochs)
        self.twin: AveragedModel | None = None
        if config.statistics == "running":
            return
        if self.average.name != "none" and any(map(is_manifold, module.parameters())):
            raise ConfigError(
                "train.average: an average of manifold parameters leaves the manifold; set "
                "model.options.parametrized=true and an optimiser of torch"
            )
        ema = get_ema_multi_avg_fn(self.average.decay) if self.average.name == "ema" else None
        self.twin = AveragedModel(module, multi_avg_fn=ema)

    @property
    def module(self) -> nn.Module:
        """The network to evaluate, as :meth:`epoch_done` left it."""
        return self.trained if self.twin is None else self.twin.module

    def step_done(self) -> None:
        """Take up the weights after a step."""
        if self.twin is not None and self.average.name == "ema":
            self.twin.update_parameters(self.trained)

    def epoch_done(self, epoch: int) -> None:
        """Take up the weights after an epoch (from 1), and bring the statistics up to date."""
        if self.twin is None:
            return
        if self.average.name != "ema":
            if self.average.name == "none" or epoch <= self.skipped + 1:
                self.twin.n_averaged.zero_()  # the next update is a copy
            self.twin.update_parameters(self.trained)
        refit_statistics(self.twin.module, self.part)

    def state_dict(self) -> dict[str, Any]:
        """Return the twin's state, empty without one."""
        return {} if self.twin is None else self.twin.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put a state back."""
        if self.twin is not None:
            self.twin.load_state_dict(state)


@torch.no_grad()
def refit_statistics(module: nn.Module, part: Part) -> None:
    """Replace the running statistics of every normalisation, Euclidean and SPD, by those of ``part``.

    Those of SPD layers are exact; Euclidean ones are averaged over chunks of 512 samples.
    """
    chunks = part.x.split(CHUNK)
    # Dropout must not draw from the stream that training draws from.
    with torch.random.fork_rng(devices=[]):
        update_bn(chunks, module)
    if any(isinstance(m, RiemannianBatchNorm) and m.track_running_stats for m in module.modules()):
        refit(module, chunks)
