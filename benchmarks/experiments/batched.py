"""How much faster equal networks train as one batched program than one by one.

Run ``python benchmarks/experiments/batched.py``. One process and one thread for both, in turns.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from spdnorm.experiments import RunConfig, Store, load_recipe
from spdnorm.experiments.batched import run_batch
from spdnorm.experiments.run import run


def configs(norm: str, *, networks: int, epochs: int) -> list[RunConfig]:
    """Seeds of SPDNet on the bundled data."""
    (entry, *_) = load_recipe("demo").entries(rows=("spdnet",), replicates=1)
    values = {"model.norm": norm, "train.epochs": epochs}
    return [entry.config.with_values({**values, "seed": seed}) for seed in range(networks)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--norms", nargs="+", default=["none", "spd", "lie", "gbw"])
    parser.add_argument("--networks", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=5)
    given = parser.parse_args()
    for norm in given.norms:
        several = configs(norm, networks=given.networks, epochs=given.epochs)
        with tempfile.TemporaryDirectory() as folder:
            alone, together = Store(Path(folder) / "alone"), Store(Path(folder) / "together")
            # One epoch first, so that neither pays for what is loaded once.
            run(several[0].with_values({"train.epochs": 1, "seed": 10_000}), store=alone)
            begin = time.process_time()
            for config in several:
                run(config, store=alone)
            middle = time.process_time()
            run_batch(several, store=together)
            end = time.process_time()
        one, all_at_once = middle - begin, end - middle
        print(
            f"SPDNet, norm {norm}: {given.networks} networks, {given.epochs} epochs: one by one {one:.2f} s, "
            f"as one program {all_at_once:.2f} s of processor time: {one / all_at_once:.2f} times as fast"
        )


if __name__ == "__main__":
    main()
