"""What recording condition numbers costs: epochs with and without the recorder, turn by turn in one process.

    python benchmarks/figures/condition_recorder.py [DATA_DIR] [ROUNDS]

Prints the median over rounds of the ratio of two neighbouring epochs, so that a machine's other work touches both.
"""

from __future__ import annotations

import statistics
import sys
import time

import torch
from lightning_fabric import Fabric

from spdnorm.experiments.building import PRECISIONS
from spdnorm.experiments.condition_log import ConditionRecorder
from spdnorm.experiments.data import load_task
from spdnorm.experiments.run import make_trainer
from spdnorm.figures import figure_config


def ratio(norm: str, every: int, data_dir: str | None, rounds: int) -> tuple[float, float]:
    """Median ratio of an epoch's seconds with the recorder to those without, and the seconds without."""
    config = figure_config(norm, subject=11, seed=0, overrides={"train.epochs": 2 * rounds + 2})
    task = load_task(config.data, data_dir=data_dir, dtype=PRECISIONS[config.train.dtype][0])
    trainer = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
    trainer.run_epoch()
    ratios, plain = [], []
    for turn in range(rounds):
        seconds = {}
        # Every second round starts with the recorder.
        for recorded in (turn % 2 == 0, turn % 2 == 1):
            recorder = ConditionRecorder(trainer.module, every=every) if recorded else None
            begin = time.process_time()
            trainer.run_epoch()
            if recorder is not None:
                recorder.rows()
                recorder.close()
            seconds[recorded] = time.process_time() - begin
        ratios.append(seconds[True] / seconds[False])
        plain.append(seconds[False])
    return statistics.median(ratios), statistics.median(plain)


def main() -> None:
    data_dir = sys.argv[1] if len(sys.argv) > 1 else None
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    torch.set_num_threads(1)
    print("| norm | one batch in | s an epoch without | with / without |\n|---|---:|---:|---:|")
    for norm in ("gbw", "spd", "none"):
        for every in (1, 4, 8):
            found, seconds = ratio(norm, every, data_dir, rounds)
            print(f"| {norm} | {every} | {seconds:.3f} | {found:.3f} |", flush=True)


if __name__ == "__main__":
    main()
