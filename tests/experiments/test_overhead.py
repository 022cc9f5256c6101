"""What the loop costs over the bare step, on the paper's EEG network with GBWBN."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import pytest
import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from spdnorm.experiments import load_recipe
from spdnorm.experiments.checkpoint import save_checkpoint
from spdnorm.experiments.data import Part, TaskData
from spdnorm.experiments.logs import CsvLog
from spdnorm.experiments.rng import deterministic
from spdnorm.experiments.run import make_trainer

EPOCHS = 12


def eeg_task() -> TaskData:
    """Random signals of the size of one subject of MAMEM-SSVEP-II: time does not depend on what they say."""
    draw = torch.Generator().manual_seed(0)

    def part(count: int) -> Part:
        return Part(torch.randn(count, 8, 125, generator=draw), torch.randint(0, 5, (count,), generator=draw))

    return TaskData(train=part(300), validation=part(100), test=part(100), n_classes=5, holds_signals=True)


@pytest.mark.slow
def test_loop_costs_less_than_a_tenth_of_the_bare_step(tmp_path: Path) -> None:
    (entry, *_) = load_recipe("mamem_acc").entries(rows=("gbwbn",), replicates=1)
    task, config = eeg_task(), entry.config
    size = config.train.batch_size
    with deterministic(threads=1):
        bare = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
        model, optimizer = bare.module.train(), bare.raw_optimizer
        trainer = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
        log = CsvLog(tmp_path / "metrics.csv", [])

        def bare_epoch() -> None:
            for start in range(0, len(task.train), size):
                optimizer.zero_grad(set_to_none=True)
                loss = cross_entropy(model(task.train.x[start : start + size]), task.train.y[start : start + size])
                loss.backward()
                optimizer.step()

        def loop_epoch() -> float:
            row = trainer.run_epoch()
            begin = time.perf_counter()
            log.write(row)
            save_checkpoint(tmp_path / "checkpoint.pt", trainer.state_dict(), config_hash=config.hash)
            return row["seconds"] + time.perf_counter() - begin

        bare_epoch(), loop_epoch()
        bares, loops, wholes = [], [], []
        # In turns, so that whatever else the machine does falls on both.
        for _ in range(EPOCHS):
            begin = time.perf_counter()
            bare_epoch()
            middle = time.perf_counter()
            loops.append(loop_epoch())
            bares.append(middle - begin)
            wholes.append(time.perf_counter() - middle)
    ratio = median(loop / alone for loop, alone in zip(loops, bares, strict=True))
    whole = median(wholes) / median(bares)
    print(f"bare {1e3 * median(bares):.1f} ms an epoch; the loop with metrics, log and checkpoint {ratio - 1:+.1%}")
    print(f"with the evaluation of the validation part, and of the test part where it is due, {whole - 1:+.1%}")
    assert ratio < 1.10
