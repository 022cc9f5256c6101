"""The whole of Bures-Wasserstein normalisation as one autograd function: bases are saved instead of graphs.

:mod:`spdnorm.functional.kernels.bw_steps` has the same as a composition, which serves where this cannot: while tracing,
in functorch transforms, for averages over several processes and for second derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.utils._pytree import tree_flatten, tree_unflatten

from spdnorm.functional.kernels import bw_steps, bw_torch, native
from spdnorm.functional.kernels.bw_normalise import Arguments
from spdnorm.linalg import full_precision


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
        ctx.arguments = arguments._replace(on_mean=None)
        inputs = x, k, outward, bias, scale, mean, variance
        compiled = (
            native.forward(inputs, eps=arguments.eps, weight=arguments.weight) if native.usable(*inputs) else None
        )
        kept: Any
        if compiled is None:
            out, found, kept = bw_torch.forward(arguments, *inputs)
        else:
            out, found, kept = compiled[0].out, compiled[0][1:], compiled[1]
        # All of it through autograd, which lets go of it after the backward pass and shows it to checkpoints.
        saved, ctx.structure = (kept, None) if compiled else tree_flatten(kept)
        ctx.save_for_backward(*inputs, *saved)
        ctx.mark_non_differentiable(*found)
        return out, *found

    @staticmethod
    @full_precision
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        inputs, saved = tensors[:7], tensors[7:]
        if torch.is_grad_enabled():
            return None, *_again(ctx.arguments, inputs, grad)
        needs = ctx.needs_input_grad[1:]
        if ctx.structure is None:
            return None, *_back_compiled(ctx.arguments, inputs, native.Kept(*saved), grad, needs)
        return None, *bw_torch.backward(ctx.arguments, inputs, tree_unflatten(saved, ctx.structure), grad, needs)


def _back_compiled(
    arguments: Arguments, inputs: tuple[Any, ...], kept: native.Kept, grad: Tensor, needs: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    return native.backward(
        inputs,
        kept,
        grad,
        native.Wanted(*needs[1:]),
        eps=arguments.eps,
        weight=arguments.weight,
        own_statistics=arguments.stats_grad,
    )


def _again(arguments: Arguments, inputs: tuple[Any, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients that can be differentiated: those of the plain composition.

    Taken at aliases, because inputs depend on one another (the mean on the samples, the anchor on M^-1/2): a gradient
    at the inputs themselves would hold those paths too, which autograd follows from here on.
    """
    aliases: list[Any] = [None if t is None else t.view_as(t) for t in inputs]
    out = bw_steps.normalise(*aliases, eps=arguments.eps, stats_grad=arguments.stats_grad, weight=arguments.weight)
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
