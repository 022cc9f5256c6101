"""Fixed-point iterations towards a Frechet mean."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

#: Steps without a smaller residual after which an iteration has met its rounding errors.
STALL = 10


class MeanResult(NamedTuple):
    """A Frechet mean and how it was reached.

    Attributes
    ----------
    mean : Tensor, shape (..., n, n)
    iterations : int
        Steps taken; 0 for a closed form.
    residual : Tensor, shape (...)
        Relative size of the gradient before the last step.

    Examples
    --------
    >>> from spdnorm.geometry import BuresWasserstein, random_spd
    >>> result = BuresWasserstein().mean(random_spd(3, 20), return_info=True)
    >>> result.mean.shape, result.iterations > 0, bool(result.residual < 1e-10)
    (torch.Size([3, 3]), True, True)
    """

    mean: Tensor
    iterations: int
    residual: Tensor


def iterate(
    start: Tensor,
    step: Callable[[Tensor], tuple[Tensor, Tensor]],
    *,
    iterations: int | None,
    tolerance: float | None,
    max_iterations: int,
) -> MeanResult:
    """Repeat ``step`` a fixed number of times, or until its residual is small or stops falling."""
    if iterations is not None and iterations < 0:
        raise ValueError(f"`iterations` must be 0 or more, got {iterations}")
    if max_iterations < 1:
        raise ValueError(f"`max_iterations` must be 1 or more, got {max_iterations}")
    mean = start
    residual = start.new_full(start.shape[:-2], float("inf"))
    if iterations is not None:
        for _ in range(iterations):
            mean, residual = step(mean)
        return MeanResult(mean, iterations, residual)
    limit = 100 * torch.finfo(start.dtype).eps if tolerance is None else tolerance
    worst = best = float("inf")
    stalled = done = 0
    # Near rounding, which grows with the condition number, the residual only jitters: a run of steps without a new
    # best is the end of what can be had. Slow but steady convergence has a new best at every step.
    while done < max_iterations and stalled < STALL:
        mean, residual = step(mean)
        done += 1
        worst = float(residual.detach().max())
        stalled = 0 if worst < best else stalled + 1
        best = min(best, worst)
        if worst <= limit:
            break
    if worst > max(limit, torch.finfo(start.dtype).eps ** 0.5):
        warnings.warn(
            f"the mean has not converged in {done} iterations (residual {worst:.1e}, wanted {limit:.1e}): raise "
            "`max_iterations` or `tolerance`, or look at the residual with return_info=True",
            RuntimeWarning,
            stacklevel=3,
        )
    return MeanResult(mean, done, residual)
