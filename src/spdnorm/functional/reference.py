"""What the paper's released script computes where it departs from the paper, for reproducing its tables only.

The differences, as facts: the variance is measured about the identity, on the data before centring; the statistics
are detached from the graph; derivatives of M^1/2 and M^-1/2 leave out the off-diagonal terms of exactly equal
eigenvalues (all of them at the start, where M = I); with ``bias_target="raw"`` (its RResNet script) the last transport
goes to G instead of its image M^-1/2 G^theta M^-1/2, where the exponential is taken all the same; with
``power_gradient="script"`` the derivative of X^theta has that of x^(1/theta) on its diagonal, because the script keeps
the exponent in a class attribute, which the last call has overwritten when gradients are taken (seen in its SPDNet
part; nothing at theta = 1). Everything else is :mod:`spdnorm.functional.gbw`'s. The script starts G at
I + 1e-7 diag(1, ..., n), which tells its eigenvalues apart for the derivative of an SVD; here G starts at I and its
derivative is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from spdnorm.functional.batch_norm import (
    LEFT_RANGE,
    Options,
    Statistics,
    rebuild,
    running_statistics,
    scale_factor,
    update_running,
)
from spdnorm.functional.kernels import BuresWassersteinKernel, ChartedKernel, NormKernel
from spdnorm.functional.kernels.bw_steps import fold, scaled_root
from spdnorm.functional.layout import prepare
from spdnorm.geometry import Average, BuresWasserstein, PowerChart, plain_average
from spdnorm.linalg import (
    INV_SQRT,
    SQRT,
    Power,
    SpectralFunction,
    check_range,
    clampm,
    congruence,
    eye_like,
    full_precision,
    spectrum,
    trace,
)
from spdnorm.stats import is_empty


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


@dataclass(frozen=True)
class OverwrittenPower(Power):
    """x^theta, whose derivative is taken as that of x^(1/theta) on the diagonal of its divided differences."""

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        exact = super().first(a, b, floor)
        diagonal = torch.eye(exact.shape[-1], dtype=torch.bool, device=exact.device)
        return torch.where(diagonal, Power(1 / self.exponent).taylor(a, 1), exact)


class _ScriptPowerChart(PowerChart):
    """X^theta with the script's derivative."""

    def __init__(self, theta: float) -> None:
        super().__init__(theta)
        self._in = OverwrittenPower(self.theta)


def _roots(m: Tensor) -> tuple[Tensor, Tensor]:
    """M^1/2 and M^-1/2 with the script's derivatives."""
    decomposed = spectrum(m)
    decomposed.check(INV_SQRT, "metric")
    return decomposed.apply(TiesAsZero(SQRT)), decomposed.apply(TiesAsZero(INV_SQRT))


def _variance_about_identity(y: Tensor, theta: float, average: Average) -> Tensor:
    """Mean of d_BW(I, X)^2 / theta^2 = tr(X + I - 2 X^1/2) / theta^2."""
    distance = trace(y) + y.shape[-1] - 2 * trace(spectrum(y).apply(SQRT))
    return average(distance) / theta**2


def _space(
    metric: Tensor | None, theta: float, power_gradient: str
) -> tuple[NormKernel[Any], tuple[Tensor, Tensor] | None]:
    """The kernel, and M^1/2 and M^-1/2."""
    roots = None if metric is None else _roots(metric)
    kernel: NormKernel[Any] = BuresWassersteinKernel(roots=roots)
    if theta != 1:
        chart = _ScriptPowerChart(theta) if power_gradient == "script" else PowerChart(theta)
        kernel = ChartedKernel(kernel, chart, scale=1 / theta**2)
    return kernel, roots


@torch.no_grad()
def _statistics(
    y: Tensor, kernel: NormKernel[Any], roots: tuple[Tensor, Tensor] | None, theta: float, options: Options
) -> Statistics:
    """Barycentre, and variance about the identity."""
    hat = y if roots is None else congruence(roots[1], y)
    mean = kernel.mean(y, options.average, options.mean_iterations)
    return Statistics(mean, _variance_about_identity(hat, theta, options.average))


def reference_statistics(batch: Tensor, metric: Tensor | None, theta: float, options: Options) -> Statistics:
    """What the variant's running statistics estimate, of a batch (N, n, n) or (N, C, n, n)."""
    kernel, roots = _space(metric, theta, "exact")
    return _statistics(kernel.enter(batch), kernel, roots, theta, options)


def _transported_to(target: Tensor, base: Tensor, deviation: Tensor, factor: Tensor | None) -> Tensor:
    """Exp_base(PT_{I -> target} Log_I Y) of the scaled samples Y, though ``base`` is not ``target``."""
    identity = eye_like(target)
    tangent = 2 * (fold(scaled_root(deviation, factor)) - identity)
    metric = BuresWasserstein(transport_method="commuting")
    return metric._exp(base, metric._transport(identity, target, tangent))


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
    power_gradient: Literal["exact", "script"] = "exact",
    floor: float | None = None,
    average: Average = plain_average,
) -> Tensor:
    """:func:`spdnorm.functional.gbw_batch_norm` as the paper's released script has it; same arguments.

    ``bias_target="raw"`` transports to G itself, ``"deformed"`` to its image in the Bures-Wasserstein space;
    ``power_gradient="script"`` differentiates X^theta as the script does (see the module).

    Examples
    --------
    >>> from spdnorm.functional import reference_gbw_batch_norm
    >>> from spdnorm.geometry import random_spd
    >>> reference_gbw_batch_norm(random_spd(3, 10), training=True).shape
    torch.Size([10, 3, 3])
    """
    if bias_target not in ("deformed", "raw"):
        raise ValueError(f"`bias_target` must be 'deformed' or 'raw', got {bias_target!r}")
    if power_gradient not in ("exact", "script"):
        raise ValueError(f"`power_gradient` must be 'exact' or 'script', got {power_gradient!r}")
    batch = prepare(
        x,
        channels,
        matrices={"running_mean": running_mean, "metric": metric, "bias": bias},
        scalars={"running_var": running_var, "scale": scale},
    )
    if is_empty(batch, average):
        return x.clone()
    if floor is not None:
        batch = clampm(batch, floor)
    kernel, roots = _space(metric, theta, power_gradient)
    options = Options(stats_grad=False, mean_iterations=mean_iterations, eps=eps, average=average)
    y = kernel.enter(batch)
    if training or running_mean is None:
        statistics = _statistics(y, kernel, roots, theta, options)
    else:
        statistics = running_statistics(kernel, running_mean, running_var, options)
    deviation = kernel.deviation(y, statistics.mean)
    if bias_target == "raw" and bias is not None:
        factor = scale_factor(statistics.variance, scale, options)
        moved = _transported_to(bias, kernel.anchor(bias), deviation, factor)
        out = kernel.leave(moved if roots is None else congruence(roots[0], moved))
    else:
        out = rebuild(kernel, deviation, statistics.variance, bias=bias, scale=scale, options=options)
    check_range(out, LEFT_RANGE)
    if training and running_mean is not None:
        update_running(kernel, running_mean, running_var, statistics, momentum)
    return out.reshape(x.shape)
