"""The training loop over a stack of equal networks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state
from torch.nn.functional import cross_entropy

from .config import RunConfig
from .data import Part, TaskData
from .errors import ExperimentError
from .evaluation import CHUNK
from .optimizers import make_schedule, make_stacked_optimizer
from .selection import score_of

__all__ = ["BatchedTrainer"]

State = dict[str, Tensor]


class BatchedTrainer:
    """Trains K networks of one architecture, each on its own data in its own order.

    Parameters
    ----------
    configs : sequence of K RunConfig
        Equal but for seed and data.
    tasks : sequence of K TaskData
        Of the same sizes.
    modules : sequence of K nn.Module
        The networks at their start; the first one's code runs them all.
    """

    def __init__(
        self, *, configs: Sequence[RunConfig], tasks: Sequence[TaskData], modules: Sequence[nn.Module]
    ) -> None:
        self.config = configs[0]
        self.base = modules[0]
        if any(isinstance(m, nn.modules.dropout._DropoutNd) and m.p > 0 for m in self.base.modules()):
            raise ExperimentError("networks with dropout cannot be batched: each would draw other units than alone")
        self.count = len(modules)
        self.train = _stack([task.train for task in tasks])
        validations = [task.validation for task in tasks if task.validation is not None]
        self.validation = _stack(validations) if validations else None
        self.test = _stack([task.test for task in tasks])
        self.params, self.buffers = stack_module_state(list(modules))
        self.optimizer = make_stacked_optimizer(self.base, self.params, self.config.optim)
        self.schedule = make_schedule(self.optimizer, self.config.optim.schedule, epochs=self.config.train.epochs)
        self.orders = [torch.Generator().manual_seed(config.seed) for config in configs]
        self.histories: list[list[dict[str, float]]] = [[] for _ in configs]
        self.best_score: list[tuple[float, ...] | None] = [None] * self.count
        self.best_epoch = [0] * self.count
        self.best: State = {}

    @property
    def epoch(self) -> int:
        """Number of epochs done."""
        return len(self.histories[0])

    def run_epoch(self) -> list[dict[str, float]]:
        """Train all networks for one epoch and return their rows."""
        epoch = self.epoch + 1
        lr = self.optimizer.param_groups[0]["lr"]
        rows: list[dict[str, float]] = [{"epoch": epoch, "lr": lr} for _ in range(self.count)]
        for row, numbers in zip(rows, self._train(), strict=True):
            row |= numbers
        improved = [False] * self.count
        if self.validation is not None:
            self._evaluate("validation", self.validation, rows, [True] * self.count)
            improved = self._remember(epoch, rows)
        every = self.config.train.test_every
        due = epoch == self.config.train.epochs or bool(every and epoch % every == 0)
        wanted = [due or better for better in improved]
        if any(wanted):
            self._evaluate("test", self.test, rows, wanted)
        for history, row in zip(self.histories, rows, strict=True):
            history.append(row)
        self.schedule.step(0.0)
        return rows

    def _loss(self, params: State, buffers: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        logits = functional_call(self.base, (params, buffers), (x,))
        loss = cross_entropy(logits, y, label_smoothing=self.config.train.label_smoothing)
        return loss, (logits.argmax(-1) == y).sum()

    def _train(self) -> list[dict[str, float]]:
        x, y = self.train.x, self.train.y
        samples, size, clip = y.shape[1], self.config.train.batch_size, self.config.train.gradient_clip
        order = torch.stack([torch.randperm(samples, generator=g) for g in self.orders]).to(y.device)
        each = torch.arange(self.count, device=y.device)[:, None]
        loss_sum = torch.zeros(self.count, dtype=torch.float64, device=y.device)
        hits = torch.zeros(self.count, dtype=torch.int64, device=y.device)
        step: Callable[..., tuple[Tensor, Tensor]] = torch.vmap(self._loss)
        self.base.train()
        begin = time.perf_counter()
        for start in range(0, samples, size):
            batch = order[:, start : start + size]
            self.optimizer.zero_grad(set_to_none=True)
            losses, hit = step(self.params, self.buffers, x[each, batch], y[each, batch])
            # The networks share nothing, so the gradient of the sum is each one's own.
            losses.sum().backward()
            if clip is not None:
                self._clip(clip)
            self.optimizer.step()
            loss_sum += losses.detach() * batch.shape[1]
            hits += hit
        totals, counts = loss_sum.tolist(), hits.tolist()
        seconds = (time.perf_counter() - begin) / self.count
        return [
            {
                "train_loss": total / samples,
                "train_accuracy": count / samples,
                "seconds": seconds,
                "samples_per_second": samples / seconds,
            }
            for total, count in zip(totals, counts, strict=True)
        ]

    def _clip(self, limit: float) -> None:
        grads = [p.grad for p in self.params.values() if p.grad is not None]
        norm = torch.stack([g.reshape(self.count, -1).norm(dim=1).double() for g in grads]).norm(dim=0)
        factor = (limit / (norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor.to(grad.dtype).view(-1, *[1] * (grad.dim() - 1)))

    @torch.no_grad()
    def _evaluate(self, name: str, part: Part, rows: list[dict[str, float]], wanted: list[bool]) -> None:
        self.base.eval()

        def outputs(params: State, buffers: State, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            logits = functional_call(self.base, (params, buffers), (x,))
            return cross_entropy(logits, y, reduction="sum"), logits.argmax(-1) == y

        chunks = [
            torch.vmap(outputs)(self.params, self.buffers, x, y)
            for x, y in zip(part.x.split(CHUNK, dim=1), part.y.split(CHUNK, dim=1), strict=True)
        ]
        self.base.train()
        losses = (torch.stack([loss for loss, _ in chunks]).sum(0) / part.y.shape[1]).tolist()
        hit = torch.cat([found for _, found in chunks], dim=1).to(torch.float64)
        batches = torch.stack([b.mean(1) for b in hit.split(self.config.train.batch_size, dim=1)])
        columns = zip(rows, wanted, losses, hit.mean(1).tolist(), batches.mean(0).tolist(), strict=True)
        for row, take, loss, accuracy, batch_accuracy in columns:
            if take:
                row[f"{name}_loss"] = loss
                row[f"{name}_accuracy"] = accuracy
                row[f"{name}_batch_accuracy"] = batch_accuracy

    def _remember(self, epoch: int, rows: list[dict[str, float]]) -> list[bool]:
        # As one by one: a loss that is no number is worse than any, and the first epoch stands until then.
        scores = [score_of(row, self.config.train.select) for row in rows]
        better = [
            score is not None and (best is None or score < best)
            for score, best in zip(scores, self.best_score, strict=True)
        ]
        state = {**self.params, **self.buffers}
        if not self.best and any(better):
            self.best = {key: value.detach().clone() for key, value in state.items()}
        for index in (i for i, is_better in enumerate(better) if is_better):
            self.best_score[index], self.best_epoch[index] = scores[index], epoch
            for key, value in state.items():
                self.best[key][index] = value.detach()[index]
        return better

    def chosen_epoch(self, index: int) -> int | None:
        """Return the epoch of one network that the validation part chose; None without a validation part."""
        if self.validation is None:
            return None
        return self.best_epoch[index] or self.epoch

    def last_state(self, index: int) -> State:
        """Return the state of one network as its own ``state_dict`` would have it."""
        return {key: value.detach()[index].clone() for key, value in {**self.params, **self.buffers}.items()}

    def selected_state(self, index: int) -> State:
        """Return the state of one network at its chosen epoch."""
        if not self.best:
            return self.last_state(index)
        return {key: value[index].clone() for key, value in self.best.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next epoch depends on, and all that has been recorded."""
        return {
            "params": {key: value.detach() for key, value in self.params.items()},
            "buffers": self.buffers,
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "orders": [generator.get_state() for generator in self.orders],
            "histories": self.histories,
            "best": self.best,
            "best_score": self.best_score,
            "best_epoch": self.best_epoch,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state_dict` returned."""
        with torch.no_grad():
            for mine, saved in ((self.params, state["params"]), (self.buffers, state["buffers"])):
                for key, value in mine.items():
                    value.copy_(saved[key])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        for generator, saved in zip(self.orders, state["orders"], strict=True):
            generator.set_state(saved.cpu())
        self.histories = [list(history) for history in state["histories"]]
        self.best = state["best"]
        self.best_score, self.best_epoch = list(state["best_score"]), list(state["best_epoch"])


def _stack(parts: Sequence[Part]) -> Part:
    return Part(torch.stack([part.x for part in parts]), torch.stack([part.y for part in parts]))
