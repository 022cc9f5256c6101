"""What the paper's released script computes where it departs from the paper, for reproducing its tables only.

The differences, as facts: the variance is measured about the identity, on the data before centring; the statistics
are detached from the graph; derivatives of functions of M and G leave out the off-diagonal term of exactly equal
eigenvalues (all of them, at the start, where M = G = I); with ``bias_target="raw"`` (its RResNet script) the last
transport goes to G instead of its image M^-1/2 G^theta M^-1/2. Everything else is :mod:`spdnorm.functional.gbw`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from spdnorm.functional.batch_norm import (
    Options,
    Statistics,
    rebuild,
    running_statistics,
    update_running,
)
from spdnorm.functional.kernels import BuresWassersteinKernel, ChartedKernel, NormKernel
from spdnorm.functional.layout import prepare
from spdnorm.geometry import PowerChart, plain_average
from spdnorm.linalg import (
    INV_SQRT,
    SQRT,
    SpectralFunction,
    congruence,
    full_precision,
    spectrum,
    trace,
)


@dataclass(frozen=True)
class TiesAsZero(SpectralFunction):
    """A spectral function whose divided difference is taken as 0 at exactly equal, distinct eigenvalues."""

    function: SpectralFunction

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        return self.function.value(x)

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        return self.function.taylor(x, order)

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        exact = self.function.first(a, b, floor)
        off_diagonal = ~torch.eye(exact.shape[-1], dtype=torch.bool, device=exact.device)
        return torch.where((a == b) & off_diagonal, torch.zeros_like(exact), exact)


def _roots(m: Tensor) -> tuple[Tensor, Tensor]:
    """M^1/2 and M^-1/2 with the script's derivatives."""
    decomposed = spectrum(m)
    decomposed.check(INV_SQRT, "metric")
    return decomposed.apply(TiesAsZero(SQRT)), decomposed.apply(TiesAsZero(INV_SQRT))


def _variance_about_identity(y: Tensor, theta: float) -> Tensor:
    """Mean of d_BW(I, X)^2 / theta^2 = tr(X + I - 2 X^1/2) / theta^2."""
    distance = trace(y) + y.shape[-1] - 2 * trace(spectrum(y).apply(SQRT))
    return plain_average(distance) / theta**2


@full_precision
def reference_gbw_batch_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    *,
    metric: Tensor | None = None,
    bias: Tensor | None = None,
    scale: Tensor | None = None,
    theta: float = 1.0,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
    mean_iterations: int | None = 1,
    channels: int | None = None,
    bias_target: Literal["deformed", "raw"] = "deformed",
) -> Tensor:
    """:func:`spdnorm.functional.gbw_batch_norm` as the paper's released script has it; same arguments.

    ``bias_target="raw"`` moves the data to G itself, ``"deformed"`` to its image in the Bures-Wasserstein space.
    """
    if bias_target not in ("deformed", "raw"):
        raise ValueError(f"`bias_target` must be 'deformed' or 'raw', got {bias_target!r}")
    batch = prepare(
        x,
        channels,
        matrices={"running_mean": running_mean, "metric": metric, "bias": bias},
        scalars={"running_var": running_var, "scale": scale},
    )
    if batch.shape[0] == 0:
        return x.clone()
    roots = None if metric is None else _roots(metric)
    kernel: NormKernel[Any] = BuresWassersteinKernel(roots=roots)
    if theta != 1:
        kernel = ChartedKernel(kernel, PowerChart(theta), scale=1 / theta**2)
    options = Options(stats_grad=False, mean_iterations=mean_iterations, eps=eps)
    y = kernel.enter(batch)
    if training or running_mean is None:
        with torch.no_grad():
            mean = kernel.mean(y, options.average, mean_iterations)
            hat = y if roots is None else congruence(roots[1], y)
            statistics = Statistics(mean, _variance_about_identity(hat, theta))
        if training and running_mean is not None:
            update_running(kernel, running_mean, running_var, statistics, momentum)
    else:
        statistics = running_statistics(kernel, running_mean, running_var)
    deviation = kernel.deviation(y, statistics.mean)
    if bias_target == "raw":
        factor = torch.rsqrt(statistics.variance + eps)
        factor = (factor if scale is None else scale * factor)[..., None, None]
        out = kernel.leave(kernel.rebuild(deviation, factor, bias))
    else:
        out = rebuild(kernel, deviation, statistics.variance, bias=bias, scale=scale, options=options)
    return out.reshape(x.shape)
