"""The two directions of the fused Bures-Wasserstein normalisation in torch: on any device, with channels, for any size.

:mod:`spdnorm.functional.kernels.native` has the same compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spdnorm.functional.kernels import bw_barycentre, bw_normalise
from spdnorm.functional.kernels.bw_normalise import Arguments
from spdnorm.functional.kernels.bw_products import multiply_add


class Kept(NamedTuple):
    """What the way back in torch needs."""

    barycentre: bw_barycentre.Saved | None
    normalised: bw_normalise.Saved


def forward(
    arguments: Arguments,
    x: Tensor,
    k: Tensor | None,
    outward: Tensor | None,
    bias: Tensor | None,
    scale: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
) -> tuple[Tensor, tuple[Tensor, ...], Kept]:
    """Samples, their statistics with the mean's eigenvalues and vectors, and what is kept for the way back."""
    barycentre = None
    if mean is None:
        mean, barycentre = bw_barycentre.forward(x, k)
    out, normalised = bw_normalise.forward(x, k, outward, bias, scale, mean, variance, arguments)
    found = mean, normalised.variance, normalised.at.values, normalised.at.basis
    return out, found, Kept(barycentre, normalised)


def backward(
    arguments: Arguments, inputs: tuple[Any, ...], kept: Kept, grad: Tensor, needs: Sequence[bool]
) -> tuple[Tensor | None, ...]:
    """Gradients of ``inputs``, as far as they are needed."""
    x, k, _, _, scale, mean, variance = inputs
    barycentre, normalised = kept
    through_mean = arguments.stats_grad and barycentre is not None
    found = bw_normalise.backward(
        normalised,
        grad,
        x,
        k,
        arguments,
        scaled=scale is not None,
        own_variance=variance is None and arguments.stats_grad,
        needs_mean=through_mean or needs[5],
        needs_anchor=needs[3],
        needs_outward=needs[2],
    )
    of_x, of_k = None, found.of_k
    if through_mean and barycentre is not None and found.of_mean is not None:
        step = bw_barycentre.backward(barycentre, x, k, found.of_mean)
        of_x = torch.empty_like(x).copy_(step.of_all)
        of_x = multiply_add(of_x, step.p.mT, step.of_samples)
        of_x = multiply_add(of_x, found.p.mT, found.of_samples)
        if of_k is not None and step.of_k is not None:
            of_k = of_k + step.of_k
    elif needs[0]:
        of_x = found.p.mT @ found.of_samples
    of_mean = found.of_mean if mean is not None else None
    of_variance = found.of_variance if variance is not None else None
    return of_x, of_k, found.of_outward, found.of_anchor, found.of_scale, of_mean, of_variance
