"""The whole of Bures-Wasserstein normalisation as one autograd function: bases are saved instead of graphs.

:mod:`spdnorm.functional.kernels.bw_steps` has the same as a composition, which serves where this cannot: while tracing,
in functorch transforms, for averages over several processes and for second derivatives.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.utils._pytree import tree_flatten, tree_unflatten

from spdnorm.functional.kernels import bw_barycentre, bw_normalise, bw_steps, native
from spdnorm.functional.kernels.bw_normalise import Arguments
from spdnorm.functional.kernels.bw_passes import Passes
from spdnorm.functional.kernels.bw_torch_passes import TorchPasses
from spdnorm.functional.kernels.native import NativePasses
from spdnorm.linalg import backend_for, full_precision


_TORCH, _NATIVE = TorchPasses(), NativePasses()


def passes_for(x: Tensor) -> Passes:
    """The fastest way over samples like ``x``: compiled where the eigensolver is, which :func:`eigh_backend` can force."""
    if x.dim() == 3 and backend_for(x) == "native" and native.unavailable() is None:
        return _NATIVE
    return _TORCH


class _Normalise(Function):
    @staticmethod
    def forward(
        ctx: Any,
        arguments: Arguments,
        x: Tensor,
        k: Tensor | None,
        outward: Tensor | None,
        bias: Tensor | None,
        scale: Tensor | None,
        mean: Tensor | None,
        variance: Tensor | None,
    ) -> tuple[Tensor, ...]:
        ctx.arguments, ctx.passes = arguments, passes_for(x)
        inputs = x, k, outward, bias, scale, mean, variance
        barycentre = None
        if mean is None:
            mean, barycentre = bw_barycentre.forward(ctx.passes, x, k)
        out, normalised = bw_normalise.forward(ctx.passes, x, k, outward, bias, scale, mean, variance, arguments)
        # All of it through autograd, which lets go of it after the backward pass and shows it to checkpoints.
        saved, ctx.structure = tree_flatten((inputs, barycentre, normalised))
        ctx.save_for_backward(*saved)
        found = mean, normalised.variance, normalised.at.values, normalised.at.basis
        ctx.mark_non_differentiable(*found)
        return out, *found

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        arguments = ctx.arguments
        inputs, barycentre, normalised = tree_unflatten(ctx.saved_tensors, ctx.structure)
        x, k, _, _, scale, mean, variance = inputs
        if torch.is_grad_enabled():
            return None, *_again(arguments, inputs, grad)
        through_mean = arguments.stats_grad and barycentre is not None
        found = bw_normalise.backward(
            ctx.passes,
            normalised,
            grad,
            x,
            k,
            arguments,
            scaled=scale is not None,
            own_variance=variance is None and arguments.stats_grad,
            needs_mean=through_mean or ctx.needs_input_grad[6],
            needs_anchor=ctx.needs_input_grad[4],
            needs_outward=ctx.needs_input_grad[3],
        )
        of_x, of_k = found.of_x, found.of_k
        if through_mean and found.of_mean is not None:
            step = bw_barycentre.backward(ctx.passes, barycentre, x, k, found.of_mean, of_x)
            of_x = step.of_x
            if of_k is not None and step.of_k is not None:
                of_k = of_k + step.of_k
        of_mean = found.of_mean if mean is not None else None
        of_variance = found.of_variance if variance is not None else None
        return None, of_x, of_k, found.of_outward, found.of_anchor, found.of_scale, of_mean, of_variance


def _again(arguments: Arguments, inputs: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients that can be differentiated: those of the plain composition.

    Taken at aliases, because inputs depend on one another (the mean on the samples, the anchor on M^-1/2): a gradient
    at the inputs themselves would hold those paths too, which autograd follows from here on.
    """
    aliases: list[Any] = [None if t is None else t.view_as(t) for t in inputs]
    out = bw_steps.normalise(*aliases, **arguments._asdict())
    wanted = [t for t in aliases if t is not None and t.requires_grad]
    found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True, allow_unused=True))
    return tuple(next(found) if t is not None and t.requires_grad else None for t in aliases)


def normalise(arguments: Arguments, *inputs: Tensor | None) -> tuple[Tensor, ...]:
    """Normalised samples, the mean and variance that were used, and the mean's eigenvalues and vectors.

    ``inputs`` are the samples (N, ..., n, n), M^-1/2, M^1/2, the bias's anchor, the scale, the mean and the variance;
    all but the samples may be None.
    """
    out: tuple[Tensor, ...] = _Normalise.apply(arguments, *inputs)
    return out
