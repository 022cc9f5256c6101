"""Square roots by products alone, beside one eigendecomposition: time, and residual by condition number.

Run ``python benchmarks/levers/newton_schulz.py [--device cuda] [--dtype float32]``. The coupled Newton-Schulz iteration
takes X to X^1/2 and X^-1/2 with three products a step. Only the forward pass is timed; the derivative takes a Lyapunov
solve, which an eigenbasis gives for four products and an iteration does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from spdnorm.bench.clock import race
from spdnorm.bench.steps import graphed
from spdnorm.linalg import eigh, sqrtm
from spdnorm.testing import spd_matrices

SIZES = [(30, 12), (30, 30), (256, 30), (256, 75)]
CONDITIONS = [1e1, 1e2, 1e4, 1e6, 1e8, 1e10]


def steps_for(condition: float, n: int) -> int:
    """Steps until the least eigenvalue has grown from 1 / (sqrt(n) condition) to 1, in double precision."""
    low, count = 1 / (condition * n**0.5), 0
    while 1 - low > 1e-15:
        low, count = low * (1.5 - 0.5 * low) ** 2, count + 1
    return count


def newton_schulz(x: Tensor, steps: int) -> Tensor:
    """X^1/2 of SPD ``x`` (..., n, n) with about 3 products a step."""
    identity = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    norm = torch.linalg.matrix_norm(x)[..., None, None]
    y, z = x / norm, identity.expand_as(x)
    for _ in range(steps):
        t = 1.5 * identity - 0.5 * (z @ y)
        y, z = y @ t, t @ z
    return y * norm.sqrt()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float64", choices=["float64", "float32"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    dtype = getattr(torch, options.dtype)
    print("condition  steps  residual of Newton-Schulz  of eigh  (256 matrices, n = 30; |S S - X| / |X|)")
    for condition in CONDITIONS:
        x = spd_matrices(30, 256, condition=condition).to(options.device, dtype)
        steps = steps_for(condition, 30)
        errors = [
            (torch.linalg.matrix_norm(root @ root - x) / torch.linalg.matrix_norm(x)).max().item()
            for root in (newton_schulz(x, steps), sqrtm(x))
        ]
        print(f"{condition:9.0e}  {steps:5d}  {errors[0]:25.1e}  {errors[1]:7.1e}")
    print("\nmilliseconds    eigh    Newton-Schulz at condition " + ", ".join(f"{c:.0e}" for c in CONDITIONS[1:4]))
    for count, n in SIZES:
        x = spd_matrices(n, count, condition=100.0).to(options.device, dtype)
        contenders: dict[str, Callable[[], object]] = {"eigh": partial(eigh, x)}
        for condition in CONDITIONS[1:4]:
            contenders[f"{condition:.0e}"] = partial(newton_schulz, x, steps_for(condition, n))
        if options.device != "cpu":
            contenders = {name: graphed(call) for name, call in contenders.items()}
        timings = race(contenders, device=options.device, rounds=9)
        print(f"({count}, {n})".ljust(14), "  ".join(f"{t.median:8.3f}" for t in timings.values()))


if __name__ == "__main__":
    main()
