"""What one epoch does, and does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from experiment_helpers import small_config
from lightning_fabric import Fabric
from torch.utils._python_dispatch import TorchDispatchMode

from spdnorm.experiments import RunConfig
from spdnorm.experiments.data import load_task
from spdnorm.experiments.run import make_trainer
from spdnorm.experiments.trainer import Trainer


class ReadBacks(TorchDispatchMode):
    """Counts the numbers that are read off tensors: each makes a GPU wait."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


def trainer_of(config: RunConfig) -> Trainer:
    task = load_task(config.data, data_dir=None, dtype=torch.float64)
    return make_trainer(config, task, Fabric(accelerator="cpu", devices=1))


def test_no_number_is_read_back_before_the_end_of_an_epoch() -> None:
    counts = []
    for batch_size in (10, 120):
        # Adam reads its step counters, which it keeps on the CPU for that.
        values = {"optim__name": "torch-sgd", "model__norm": "none", "model__norm_options": {}}
        trainer = trainer_of(small_config(**values, train__batch_size=batch_size))
        with ReadBacks() as seen:
            trainer._train()
        counts.append(seen.count)
    # 22 steps and 2 steps: the loss and the hits, once.
    assert counts == [2, 2]


def test_every_sample_is_trained_on_once_an_epoch_and_no_other() -> None:
    trainer = trainer_of(small_config(model__norm="none", model__norm_options={}))
    part = trainer.task.train
    seen: list[torch.Tensor] = []
    trainer.module.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].clone()))
    trainer._train()
    assert [len(batch) for batch in seen] == [30] * (len(part) // 30) + [len(part) % 30] * bool(len(part) % 30)
    everything = torch.cat(seen).flatten(1)
    assert not torch.equal(everything, part.x.flatten(1))
    assert torch.equal(everything[everything[:, 0].argsort()], part.x.flatten(1)[part.x[:, 0, 0].argsort()])


def test_the_test_part_has_no_say_in_training_or_in_the_choice(tmp_path: Path) -> None:
    # Whatever stands in the test part, the same weights are reached and chosen under the paper's protocol.
    config = small_config(train__epochs=4, train__test_every=1)
    one, other = trainer_of(config), trainer_of(config)
    other.task.test.x.copy_(other.task.test.x.flip(0) * 5)
    for _ in range(4):
        one.run_epoch(), other.run_epoch()
    assert one.best is not None
    assert other.best is not None
    assert one.best["epoch"] == other.best["epoch"]
    for a, b in ((one.best["model"], other.best["model"]), (one.module.state_dict(), other.module.state_dict())):
        assert all(torch.equal(a[key], b[key]) for key in a)
    assert [row["test_accuracy"] for row in one.history] != [row["test_accuracy"] for row in other.history]


def test_a_clipped_step_is_as_long_as_it_may_be() -> None:
    # One batch an epoch, plain descent: all parameters together move by the learning rate times the clipped norm.
    values = {"optim__name": "torch-sgd", "optim__lr": 1.0, "train__batch_size": 1000}
    moved = {}
    for clip in (1e-3, 1e-2, None):
        trainer = trainer_of(small_config(**values, train__gradient_clip=clip))
        before = [parameter.detach().clone() for parameter in trainer.module.parameters()]
        trainer._train()
        steps = [(a - b).flatten() for a, b in zip(trainer.module.parameters(), before, strict=True)]
        moved[clip] = float(torch.cat(steps).detach().norm())
    assert moved[None] > 0.1
    for clip in (1e-3, 1e-2):
        assert abs(moved[clip] / clip - 1) < 1e-3
