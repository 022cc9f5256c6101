"""What the training loop costs over the bare step, on the paper's EEG network with GBWBN.

Run ``python benchmarks/experiments/overhead.py``. Both are timed in turns within one process, so that whatever else
the machine does falls on both; the median of the ratios is what counts. The target is less than 10 %.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from spdnorm.experiments import load_recipe
from spdnorm.experiments.checkpoint import save_checkpoint
from spdnorm.experiments.data import Part, TaskData
from spdnorm.experiments.logs import CsvLog
from spdnorm.experiments.rng import deterministic
from spdnorm.experiments.run import make_trainer


def eeg_task() -> TaskData:
    """Random signals of the size of one subject of MAMEM-SSVEP-II: time does not depend on what they say."""
    draw = torch.Generator().manual_seed(0)

    def part(count: int) -> Part:
        return Part(torch.randn(count, 8, 125, generator=draw), torch.randint(0, 5, (count,), generator=draw))

    return TaskData(train=part(300), validation=part(100), test=part(100), n_classes=5, holds_signals=True)


def measure(folder: Path, *, norm: str, epochs: int, clock: Callable[[], float]) -> tuple[float, float, float]:
    """Return seconds of a bare epoch, and the ratios of the loop without and with the evaluation."""
    (entry, *_) = load_recipe("mamem_acc").entries(rows=("gbwbn",), replicates=1)
    config = entry.config.with_values({"model.norm": norm, "model.norm_options": {}})
    task, size = eeg_task(), entry.config.train.batch_size
    with deterministic(threads=1):
        bare = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
        model, optimizer = bare.module.train(), bare.raw_optimizer
        trainer = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
        log = CsvLog(folder / "metrics.csv", [])

        def bare_epoch() -> float:
            begin = clock()
            for start in range(0, len(task.train), size):
                optimizer.zero_grad(set_to_none=True)
                loss = cross_entropy(model(task.train.x[start : start + size]), task.train.y[start : start + size])
                loss.backward()
                optimizer.step()
            return clock() - begin

        def loop_epoch() -> tuple[float, float]:
            begin = clock()
            row: dict[str, float] = {"epoch": trainer.epoch + 1, "lr": config.optim.lr, **trainer._train()}
            trained = clock()
            # Evaluation is work of its own, which a bare step does not do.
            row |= trainer._evaluate("validation", task.validation)
            trainer._remember(int(row["epoch"]), row)
            evaluated = clock()
            trainer.history.append(row)
            log.write(row)
            save_checkpoint(folder / "checkpoint.pt", trainer.state_dict(), config_hash=config.hash)
            end = clock()
            return end - begin - (evaluated - trained), end - begin

        bare_epoch(), loop_epoch()
        bares, loops, wholes = [], [], []
        for _ in range(epochs):
            bares.append(bare_epoch())
            loop, whole = loop_epoch()
            loops.append(loop)
            wholes.append(whole)
        log.close()
    ratios = (median(b / a for a, b in zip(bares, times, strict=True)) for times in (loops, wholes))
    return median(bares), *ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--norms", nargs="+", default=["none", "gbw"])
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument(
        "--processor-time", action="store_true", help="On a busy machine: what no other process shares."
    )
    given = parser.parse_args()
    clock = time.process_time if given.processor_time else time.perf_counter
    for norm in given.norms:
        with tempfile.TemporaryDirectory() as folder:
            bare, loop, whole = measure(Path(folder), norm=norm, epochs=given.epochs, clock=clock)
        print(
            f"EEGSPDNet, norm {norm}: bare {1e3 * bare:.1f} ms an epoch of 10 steps; with shuffling, metrics, log and "
            f"checkpoint {loop - 1:+.1%}; with the evaluation of the validation part too {whole - 1:+.1%}"
        )


if __name__ == "__main__":
    main()
