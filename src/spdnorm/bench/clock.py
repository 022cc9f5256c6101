"""Timing contenders in turns."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Timing:
    """Milliseconds of one call: median, and first and third quartile.

    Examples
    --------
    >>> from spdnorm.bench import Timing
    >>> Timing.of([0.003, 0.001, 0.002]).median
    2.0
    """

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, seconds: list[float]) -> Timing:
        """Summarise the durations of the rounds, in seconds."""
        milliseconds = sorted(1e3 * s for s in seconds)
        if len(milliseconds) == 1:
            return cls(*milliseconds * 3)
        low, median, high = statistics.quantiles(milliseconds, n=4, method="inclusive")
        return cls(median, low, high)

    def scaled(self, factor: float) -> Timing:
        """The same in another unit."""
        return Timing(factor * self.median, factor * self.low, factor * self.high)

    def __str__(self) -> str:
        return f"{self.median:.3g}"


def race(
    contenders: Mapping[str, Callable[[], object]],
    *,
    device: torch.device | str = "cpu",
    rounds: int = 15,
    warmup: int = 3,
) -> dict[str, Timing]:
    """Time each contender once a round, after some rounds that do not count; waits for a GPU before and after.

    Examples
    --------
    >>> from spdnorm.bench import race
    >>> sorted(race({"a": lambda: None, "b": lambda: None}, rounds=2))
    ['a', 'b']
    """
    cuda = torch.device(device).type == "cuda"
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for turn in range(warmup + rounds):
            for name, call in contenders.items():
                if cuda:
                    torch.cuda.synchronize(device)
                start = time.perf_counter()
                call()
                if cuda:
                    torch.cuda.synchronize(device)
                if turn >= warmup:
                    seconds[name].append(time.perf_counter() - start)
    finally:
        if collecting:
            gc.enable()
    return {name: Timing.of(found) for name, found in seconds.items()}
