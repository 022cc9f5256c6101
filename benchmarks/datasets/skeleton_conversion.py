"""How fast `.skeleton` files convert, and in how much memory.

Writes synthetic files of the published format, converts them with ``spdnorm data prepare ntu`` in a process of its
own, and samples the memory of that process and its workers: the sum of their proportional set sizes (shared pages
counted once) and of their resident sets (shared pages counted in each). Exits with 1 where the larger passes 500 MB.

    python benchmarks/datasets/skeleton_conversion.py --files 2000 --workers 2
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from spdnorm.datasets.ntu_convert import open_converted
from spdnorm.datasets.skeleton_writer import random_bodies, write_skeleton

RELEASE = 56_880
LIMIT_MB = 500


def write_files(folder: Path, count: int, *, seed: int = 0) -> int:
    """Write files whose lengths and numbers of bodies are spread as the release's are: about 80 frames, few pairs."""
    rng = np.random.default_rng(seed)
    for k in range(count):
        action, rest = k % 60 + 1, k // 60
        # Setups from 18 on: none of the names is on the list of damaged samples.
        name = f"S{rest // 120 + 18:03d}C{rest % 3 + 1:03d}P{rest % 40 + 1:03d}R{rest % 2 + 1:03d}A{action:03d}"
        frames = int(np.clip(rng.gamma(8.0, 10.0), 32, 300))
        motions = (0.3, 0.2) if action >= 50 else (0.3,)
        write_skeleton(folder / f"{name}.skeleton", frames, random_bodies(rng, frames, motions=motions))
    return sum(path.stat().st_size for path in folder.iterdir())


def tree(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += tree(int(child))
    return found


def memory(pid: int) -> tuple[float, float]:
    """Return (sum of PSS, sum of RSS) of a process tree, in MB."""
    total = {"Pss:": 0, "Rss:": 0}
    for member in tree(pid):
        for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
            fields = line.split()
            if fields[0] in total:
                total[fields[0]] += int(fields[1])
    return total["Pss:"] / 1024, total["Rss:"] / 1024


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def convert(root: Path, workers: int) -> tuple[float, float, float, float]:
    """Return seconds, processor seconds (which other work on the machine does not change), peak PSS and peak RSS."""
    command = [sys.executable, "-m", "spdnorm", "data", "prepare", "ntu", "--quiet"]
    command += ["--workers", str(workers), "--data-dir", str(root), "--restart"]
    start = time.perf_counter()
    used: dict[int, float] = {}
    peak = (0.0, 0.0)
    with subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL) as child:
        while child.poll() is None:
            try:
                now = memory(child.pid)
                used |= {member: processor_seconds(member) for member in tree(child.pid)}
            except (FileNotFoundError, ProcessLookupError):
                continue  # a process ended between listing and reading
            peak = (max(peak[0], now[0]), max(peak[1], now[1]))
            time.sleep(0.02)
    if child.returncode:
        sys.exit(f"the conversion failed with status {child.returncode}")
    return time.perf_counter() - start, sum(used.values()), *peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "ntu").mkdir()
        size = write_files(root / "ntu", arguments.files)
        for workers in arguments.workers:
            seconds, used, pss, rss = convert(root, workers)
            lengths = open_converted(root / "ntu" / "converted")[1]
            assert (lengths > 0).sum() == arguments.files, "not every file was converted"
            rate = arguments.files / seconds
            result = {
                "files": arguments.files,
                "megabytes": round(size / 1e6),
                "frames": int(lengths.sum()),
                "workers": workers,
                "seconds": round(seconds, 2),
                "processor_seconds": round(used, 2),
                "files_per_second": round(rate),
                "files_per_processor_second": round(arguments.files / used),
                "minutes_for_56880": round(RELEASE / rate / 60, 1),
                "peak_pss_mb": round(pss),
                "peak_rss_sum_mb": round(rss),
            }
            print(json.dumps(result), flush=True)
            if max(pss, rss) > LIMIT_MB:
                sys.exit(f"peak memory {max(pss, rss):.0f} MB is over {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
