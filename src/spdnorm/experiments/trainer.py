"""The training loop: one object whose whole state can be saved after any epoch and put back.

It stands on Lightning Fabric, which costs nothing measurable over the bare step and brings devices, DDP and mixed
precision. All samples lie on the device as tensors: a batch is one indexed copy, and no number is read back
before the end of an epoch.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer

from . import rng
from .adaptation import adapted
from .conditioning import condition_counts
from .config import RunConfig
from .cropping import cropped
from .data import Part, TaskData
from .errors import CheckpointError
from .evaluated import Evaluated
from .evaluation import evaluate
from .metric_parameters import MetricPenalty
from .optimizers import Schedule
from .selection import score_of

__all__ = ["Trainer"]


class Trainer:
    """Trains one network epoch by epoch.

    Parameters
    ----------
    config : RunConfig
        What to do.
    task : TaskData
        The parts, on ``fabric``'s device.
    model, optimizer, schedule
        The network on the same device and dtype, and what moves it.
    fabric : Fabric
        Launched.

    Attributes
    ----------
    history : list of dict
        One row of numbers for each epoch done.
    best : dict or None
        ``epoch`` (from 1), ``score`` and ``model`` (state) of the best epoch so far on the validation part.
    """

    def __init__(
        self,
        *,
        config: RunConfig,
        task: TaskData,
        model: nn.Module,
        optimizer: Optimizer,
        schedule: Schedule,
        fabric: Fabric,
    ) -> None:
        self.config = config
        self.task = task
        self.module = model
        self.schedule = schedule
        self.fabric = fabric
        self.model, self.optimizer = fabric.setup(model, optimizer)
        self.raw_optimizer = optimizer
        self.evaluated = Evaluated(model, config.train, task.train)
        weight = config.train.metric_penalty
        self.penalty = MetricPenalty(model, weight=weight) if weight else None
        self.order = torch.Generator().manual_seed(config.seed)
        self.history: list[dict[str, float]] = []
        self.best: dict[str, Any] | None = None
        self.conditions: dict[str, Any] = {}

    @property
    def epoch(self) -> int:
        """Number of epochs done."""
        return len(self.history)

    @property
    def finished(self) -> bool:
        """Whether all epochs are done, or early stopping has had enough."""
        patience = self.config.train.early_stopping
        if patience is not None and self.best is not None and self.epoch - self.best["epoch"] >= patience:
            return True
        return self.epoch >= self.config.train.epochs

    def run_epoch(self) -> dict[str, float]:
        """Train one epoch, evaluate, and return its row of numbers."""
        epoch = self.epoch + 1
        row: dict[str, float] = {"epoch": epoch, "lr": self.optimizer.param_groups[0]["lr"]}
        row |= self._train()
        self.evaluated.epoch_done(epoch)
        if self.task.validation is not None:
            row |= self._evaluate("validation", self.task.validation)
            self._remember(epoch, row)
        self.history.append(row)
        # The test part is looked at only where a reading needs it: the chosen epoch and the last one.
        every = self.config.train.test_every
        chosen = self.best is not None and self.best["epoch"] == epoch
        if chosen or self.finished or (every and epoch % every == 0):
            row |= self._evaluate("test", self.task.test)
        if epoch in self.config.train.condition_epochs:
            parts = [self.task.train, self.task.validation, self.task.test]
            present = [part for part in parts if part is not None]
            self.conditions[str(epoch)] = condition_counts(self.module, present)
        self.schedule.step(row.get("validation_loss", row["train_loss"]))
        return row

    def _train(self) -> dict[str, float]:
        part, size = self.task.train, self.config.train.batch_size
        model, optimizer, fabric = self.model, self.optimizer, self.fabric
        clip, smoothing = self.config.train.gradient_clip, self.config.train.label_smoothing
        world, rank = fabric.world_size, fabric.global_rank
        if world > 1:
            # Dropout of each process' own, and of each epoch's: a checkpoint holds the random state of one process.
            rng.seed_all(int(np.random.SeedSequence([self.config.seed, self.epoch, rank]).generate_state(1)[0]))
        order = torch.randperm(len(part), generator=self.order).to(part.y.device)
        loss_sum = torch.zeros((), dtype=torch.float64, device=part.y.device)
        hits = torch.zeros((), dtype=torch.int64, device=part.y.device)
        model.train()
        begin = time.perf_counter()
        for start in range(0, len(part), size):
            batch = order[start : start + size]
            share = batch[rank::world]
            y = part.y[share]
            optimizer.zero_grad(set_to_none=True)
            x, *rest = part.inputs(share)
            logits = model(cropped(x, self.config.train.crop, self.order), *rest)
            if world > 1:
                # DDP averages the gradients of the processes, whose shares of a batch may differ in size.
                summed = cross_entropy(logits, y, reduction="sum", label_smoothing=smoothing)
                loss = summed * (world / len(batch))
            else:
                loss = cross_entropy(logits, y, label_smoothing=smoothing)
            fabric.backward(loss if self.penalty is None else loss + self.penalty())
            if clip is not None:
                fabric.clip_gradients(model, optimizer, max_norm=clip)
            optimizer.step()
            self.evaluated.step_done()
            loss_sum += loss.detach() * (len(batch) / world)
            hits += (logits.detach().argmax(-1) == y).sum()
        total, hit = self._sum(loss_sum), self._sum(hits)
        seconds = time.perf_counter() - begin
        return {
            "train_loss": total / len(part),
            "train_accuracy": hit / len(part),
            "seconds": seconds,
            "samples_per_second": len(part) / seconds,
        }

    def _sum(self, value: Tensor) -> float:
        if self.fabric.world_size > 1:
            value = self.fabric.all_reduce(value, reduce_op="sum")  # type: ignore[assignment]
        return value.item()

    def _evaluate(self, name: str, part: Part) -> dict[str, float]:
        model = self.evaluated.module
        unlabelled = adapted(model, part) if name in self.config.train.adapt else nullcontext()
        with self.fabric.autocast(), unlabelled:
            found = evaluate(model, part, batch_size=self.config.train.batch_size)
        return {
            f"{name}_loss": found.loss,
            f"{name}_accuracy": found.accuracy,
            f"{name}_batch_accuracy": found.batch_accuracy,
        }

    def _remember(self, epoch: int, row: dict[str, float]) -> None:
        score = score_of(row, self.config.train.select)
        if score is not None and (self.best is None or score < self.best["score"]):
            module = self.evaluated.module
            state = {key: value.detach().clone() for key, value in module.state_dict().items()}
            self.best = {"epoch": epoch, "score": score, "model": state}

    @property
    def chosen_epoch(self) -> int | None:
        """The epoch that the validation part, or its absence, leaves to be read; None without a validation part."""
        if self.task.validation is None:
            return None
        return self.epoch if self.best is None else self.best["epoch"]

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next epoch depends on, and all that has been recorded."""
        return {
            "world_size": self.fabric.world_size,
            "model": self.module.state_dict(),
            "evaluated": self.evaluated.state_dict(),
            "optimizer": self.raw_optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "rng": rng.capture(),
            "order": self.order.get_state(),
            "history": self.history,
            "best": self.best,
            "conditions": self.conditions,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned; the next epoch has the same bits as without the break."""
        if state["world_size"] != self.fabric.world_size:
            raise CheckpointError(
                f"the run was started on {state['world_size']} devices and cannot continue on "
                f"{self.fabric.world_size}: the sums would differ"
            )
        self.module.load_state_dict(state["model"])
        self.evaluated.load_state_dict(state["evaluated"])
        self.raw_optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        rng.restore(state["rng"])
        self.order.set_state(state["order"].cpu())
        self.history = list(state["history"])
        self.best = state["best"]
        self.conditions = dict(state["conditions"])
