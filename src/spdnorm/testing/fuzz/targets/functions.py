"""Spectral functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torch import Tensor

from spdnorm import linalg
from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import finite, symmetric
from spdnorm.testing.fuzz.targets.common import Target, gradients

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sqrtm": linalg.sqrtm,
    "inv_sqrtm": linalg.inv_sqrtm,
    "logm": linalg.logm,
    "powm": lambda x: linalg.powm(x, 0.7),
    "clampm": lambda x: linalg.clampm(x, 1e-4),
    "absm": linalg.absm,
}


def function(name: str) -> Target:
    """A spectral function and its derivative."""

    def run(case: Case) -> Iterator[str]:
        x = matrices(case).requires_grad_()
        out = FUNCTIONS[name](x)
        yield from finite("value", out.detach())
        yield from symmetric("value", out.detach())
        yield from gradients(out, x, None)

    return run
