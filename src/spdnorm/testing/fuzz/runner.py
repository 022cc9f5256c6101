"""Runs cases until enough matrices have been tried."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spdnorm.testing.fuzz.cases import Case, draw
from spdnorm.testing.fuzz.targets import MAY_REFUSE, TAKES_SINGULAR, TARGETS


@dataclass
class Report:
    """What came of it.

    Attributes
    ----------
    matrices, cases : int
    tried, refused : Counter
        Matrices by target; of these, such as were refused with an error that names the argument, as they may be.
    kinds : Counter
        Matrices by kind and dtype.
    violations : list of str
        Target, what is wrong, and the case; its seed draws it again.
    """

    matrices: int = 0
    cases: int = 0
    tried: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def __add__(self, other: Report) -> Report:
        """Both together."""
        return Report(
            self.matrices + other.matrices,
            self.cases + other.cases,
            self.tried + other.tried,
            self.refused + other.refused,
            self.kinds + other.kinds,
            self.violations + other.violations,
        )


def check(name: str, case: Case, report: Report) -> None:
    """Run one target on one case."""
    report.cases += 1
    report.matrices += case.batch
    report.tried[name] += case.batch
    report.kinds[f"{case.kind} {str(case.dtype).removeprefix('torch.')}"] += case.batch
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            wrong = list(TARGETS[name](case))
    except ValueError as error:
        wrong = []
        if "`" not in str(error):
            wrong = [f"an error that names no argument: {error}"]
        elif name not in MAY_REFUSE and (case.definite or name in TAKES_SINGULAR):
            wrong = [f"refused: {error}"]
        else:
            report.refused[name] += case.batch
    except Exception as error:
        wrong = [f"{type(error).__name__}: {error}"]
    report.violations += [f"{name}: {text} <- {case}" for text in wrong]


def fuzz(
    matrices: int,
    *,
    start: int = 0,
    step: int = 1,
    targets: Sequence[str] | None = None,
    seconds: float = float("inf"),
    progress: Callable[[Report], None] | None = None,
) -> Report:
    """Try at least so many matrices on all targets in turn.

    Parameters
    ----------
    matrices : int
    start, step : int
        Seeds are start, start + step, ...: processes share the work by different starts.
    targets : sequence of str, optional
        Names in :data:`TARGETS`.
    seconds : float
        Stop after so long, however many matrices there were.
    progress : callable, optional
        Called with the report after every case.
    """
    names = list(TARGETS if targets is None else targets)
    report, seed, end = Report(), start, time.monotonic() + seconds
    while report.matrices < matrices and time.monotonic() < end:
        check(names[seed // step % len(names)], draw(seed), report)
        seed += step
        if progress is not None:
            progress(report)
    return report
