"""What gradient descent under a metric asks for: the gradient, a step that stays inside, a transport that is cheap."""

from __future__ import annotations

from functools import singledispatch

import torch
from torch import Tensor

from spdnorm.geometry import AffineInvariant, BuresWasserstein, Euclidean, Metric, Pullback
from spdnorm.linalg import congruence, eye_like, lyapunov, spectrum, symmetrize, trace

#: Share of the way to the border of the exponential's domain that one step may take.
REACH = 0.9


@singledispatch
def riemannian_gradient(metric: Metric, x: Tensor, gradient: Tensor) -> Tensor:
    """Pi_x: the U with <U, V>_x = <gradient, V> for every V, from a symmetric Euclidean ``gradient`` (..., n, n)."""
    raise TypeError(f"{metric!r} has no Riemannian gradient: register one with riemannian_gradient.register")


@riemannian_gradient.register
def _(metric: BuresWasserstein, x: Tensor, gradient: Tensor) -> Tensor:
    return 4 * symmetrize(x @ gradient)


def _untrace(u: Tensor, x: Tensor, total: Tensor, alpha: float, beta: float) -> Tensor:
    """Solve alpha A + beta tr(A) I = G, given tr(G)."""
    if beta == 0:
        return u / alpha
    trace_of_a = total / (alpha + x.shape[-1] * beta)
    return (u - beta * trace_of_a[..., None, None] * x) / alpha


@riemannian_gradient.register
def _(metric: AffineInvariant, x: Tensor, gradient: Tensor) -> Tensor:
    return _untrace(congruence(x, gradient), x, (x * gradient).sum((-2, -1)), metric.alpha, metric.beta)


@riemannian_gradient.register
def _(metric: Euclidean, x: Tensor, gradient: Tensor) -> Tensor:
    return _untrace(gradient, eye_like(x), trace(gradient), metric.alpha, metric.beta)


@riemannian_gradient.register
def _(metric: Pullback, x: Tensor, gradient: Tensor) -> Tensor:
    y = metric.chart.forward(x).detach()
    with torch.enable_grad():
        variable = y.requires_grad_()
        (of_y,) = torch.autograd.grad(metric.chart.inverse(variable), variable, gradient)
    y = y.detach()
    return metric.chart.pull(y, riemannian_gradient(metric.base, y, of_y)) / metric.scale


@singledispatch
def guarded_exp(metric: Metric, x: Tensor, u: Tensor) -> Tensor:
    """Exp_x(u), shortened where it would leave the domain of the exponential."""
    return metric._exp(x, u)


@guarded_exp.register
def _(metric: BuresWasserstein, x: Tensor, u: Tensor) -> Tensor:
    # I + L must stay positive definite: beyond, the curve has passed a singular matrix and folds back.
    lift = lyapunov(x, u)
    lowest = spectrum(lift).values[..., :1, None]
    length = torch.where(lowest < -REACH, -REACH / lowest, torch.ones_like(lowest))
    return congruence(eye_like(x) + length * lift, x)


@guarded_exp.register
def _(metric: Pullback, x: Tensor, u: Tensor) -> Tensor:
    chart = metric.chart
    return chart.inverse(guarded_exp(metric.base, chart.forward(x), chart.push(x, u)))


@singledispatch
def vector_transport(metric: Metric, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
    """A vector transport from ``x`` to ``y`` for momenta: parallel where that has a closed form."""
    return metric._transport(x, y, u)


@vector_transport.register
def _(metric: BuresWasserstein, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
    # Parallel transport needs an integration. Keeping the lift L of U = X L + L X costs one decomposition.
    return 2 * symmetrize(y @ lyapunov(x, u))


@vector_transport.register
def _(metric: Pullback, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
    chart = metric.chart
    start, end = chart.forward(x), chart.forward(y)
    return chart.pull(end, vector_transport(metric.base, start, end, chart.push(x, u)))
