"""``python -m spdnorm.testing.fuzz``: the long-running fuzzer."""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from spdnorm.testing.fuzz.runner import Report, fuzz


def _share(matrices: int, start: int, step: int, seconds: float, targets: list[str] | None) -> Report:
    torch.set_num_threads(1)
    return fuzz(matrices, start=start, step=step, seconds=seconds, targets=targets)


def main() -> None:
    """Share the matrices between processes, print what is wrong, exit with 1 if anything is."""
    parser = argparse.ArgumentParser(prog="python -m spdnorm.testing.fuzz", description=__doc__)
    parser.add_argument("--matrices", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--start", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--target", action="append", dest="targets", help="only this one; may be repeated")
    parser.add_argument("--json", type=Path, help="write the counts here")
    given = parser.parse_args()
    share = -(-given.matrices // given.processes)
    starts = [given.start + i for i in range(given.processes)]
    begun = time.monotonic()
    with ProcessPoolExecutor(given.processes) as pool:
        futures = [pool.submit(_share, share, s, given.processes, given.seconds, given.targets) for s in starts]
        report = sum((f.result() for f in futures), Report())
    print(f"{report.matrices:,} matrices in {report.cases:,} cases, {len(report.violations)} violations")
    print(*report.violations, sep="\n")
    if given.json:
        counts: dict[str, Any] = {
            "matrices": report.matrices,
            "cases": report.cases,
            "violations": len(report.violations),
            "tried": report.tried,
            "refused": report.refused,
            "kinds": report.kinds,
            "seconds": round(time.monotonic() - begun),
            "processes": given.processes,
        }
        given.json.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")
    sys.exit(bool(report.violations))


if __name__ == "__main__":
    main()
