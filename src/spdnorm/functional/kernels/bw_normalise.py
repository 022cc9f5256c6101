"""Centre, scale and bias under the Bures-Wasserstein metric, forward and backward (paper, Eqs. (center) to (bias)).

In the eigenbasis of B the samples' deviations are E = w o Z - B^1/2 with Z = (B^1/2 K X K B^1/2)^1/2 and
w_ij = sqrt((b_i + b_j) / 2) / sqrt(b_i b_j). Turned into the eigenbasis of the bias G, by one rotation from basis to
basis, they give Y = L L^T with L = H (I + f v o E) G^1/2, v_ij = sqrt(2 / (g_i + g_j)), H = M^1/2 (the basis of G)
and f = s / sqrt(variance + eps). Everything between two rotations is elementwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from spdnorm.functional.kernels import bw_fold
from spdnorm.functional.kernels.bw_products import (
    Roots,
    SampleRoot,
    outer,
    pair,
    right,
    root_loewner,
    roots_of,
    sample_root,
    sample_root_adjoint,
    sum_gradient,
)
from spdnorm.linalg import Spectrum, safe_rsqrt, symmetrize


class Arguments(NamedTuple):
    """What is not differentiated.

    Attributes
    ----------
    eps : float
        Added to the variance.
    stats_grad : bool
        Whether the gradients of a batch's own statistics count.
    weight : float
        Multiplies squared lengths in the variance.
    on_mean : callable, optional
        Told the mean's decomposition as soon as it is known, where the samples are still to be done.
    """

    eps: float
    stats_grad: bool
    weight: float
    on_mean: Callable[[Spectrum], None] | None = None


class Saved(NamedTuple):
    """What the backward pass needs."""

    at: Roots
    weight: Tensor
    p: Tensor
    samples: SampleRoot
    deviation: Tensor
    fold: bw_fold.Saved | None
    variance: Tensor
    factor: Tensor
    anchor: Roots | None
    mask: Tensor | None
    turn: Tensor
    turned: Tensor
    outward: Tensor | None


class Gradients(NamedTuple):
    """P, T with P^T T that of the samples, and the gradients of the other inputs: K, B, the outward root and so on."""

    p: Tensor
    of_samples: Tensor
    of_k: Tensor | None
    of_mean: Tensor | None
    of_outward: Tensor | None
    of_anchor: Tensor | None
    of_scale: Tensor | None
    of_variance: Tensor


def _half_sum_root(of: Roots) -> Tensor:
    """sqrt((l_i + l_j) / 2), shape (..., n, n)."""
    return (0.5 * (of.values.unsqueeze(-1) + of.values.unsqueeze(-2))).clamp_min_(0).sqrt_()


def _deviation_weight(at: Roots) -> Tensor:
    """w_ij of the module's docstring, 0 on the null space."""
    return _half_sum_root(at).mul_(at.inverse.unsqueeze(-1)).mul_(at.inverse.unsqueeze(-2))


def _mask(anchor: Roots) -> Tensor:
    """v_ij sqrt(g_j): what multiplies a turned deviation on its way to the step times G^1/2."""
    return anchor.root.unsqueeze(-2) / _half_sum_root(anchor)


def forward(
    x: Tensor,
    k: Tensor | None,
    outward: Tensor | None,
    anchor: Tensor | None,
    scale: Tensor | None,
    mean: Tensor,
    variance: Tensor | None,
    arguments: Arguments,
) -> tuple[Tensor, Saved]:
    """Normalised samples about ``mean`` with ``variance``, or with their own where that is None."""
    at = roots_of(mean)
    if arguments.on_mean is not None:
        arguments.on_mean(Spectrum(mean, at.values, at.basis))
    p = at.root.unsqueeze(-1) * at.basis.mT
    p = p if k is None else p @ k
    samples, scaled = sample_root(right(p @ x, p.mT))
    weight = _deviation_weight(at)
    deviation = (scaled.mT @ scaled).mul_(weight)
    deviation.diagonal(dim1=-2, dim2=-1).sub_(at.root)
    length = torch.linalg.vector_norm(deviation, dim=(-2, -1))
    if variance is None:
        variance = arguments.weight * length.square().mean(0)
    factor = safe_rsqrt(variance + arguments.eps)
    factor = factor if scale is None else scale * factor
    folded, fold = bw_fold.forward(deviation, length, factor)

    base = None if anchor is None else roots_of(anchor, definite=True)
    turn, out_of = at.basis, outward
    if base is not None:
        turn = base.basis.mT @ at.basis
        out_of = base.basis if outward is None else outward @ base.basis
    turned = right(turn @ folded, turn.mT)
    mask = None if base is None else _mask(base)
    saved = Saved(at, weight, p, samples, deviation, fold, variance, factor, base, mask, turn, turned, out_of)
    half = _half(saved, _step(saved))
    return half @ half.mT, saved


def _step(saved: Saved) -> Tensor:
    """(I + f v o E) G^1/2 in the eigenbasis of G."""
    f, base = saved.factor[..., None, None], saved.anchor
    step = saved.turned * (f if saved.mask is None else f * saved.mask)
    step.diagonal(dim1=-2, dim2=-1).add_(1 if base is None else base.root)
    return step


def _half(saved: Saved, step: Tensor) -> Tensor:
    return step if saved.outward is None else saved.outward @ step


def backward(
    saved: Saved,
    grad: Tensor,
    x: Tensor,
    k: Tensor | None,
    arguments: Arguments,
    *,
    scaled: bool,
    own_variance: bool,
    needs_mean: bool,
    needs_anchor: bool,
    needs_outward: bool,
) -> Gradients:
    """Gradients from that of the output; ``own_variance`` sends one through the variance too."""
    at, anchor, turned = saved.at, saved.anchor, saved.turned
    lead = turned.dim() - 3
    step = _step(saved)
    of_half = (grad + grad.mT) @ _half(saved, step)
    of_outward = None
    if needs_outward:
        of_outward = (of_half @ step.mT).sum(0)
        of_outward = of_outward if anchor is None else of_outward @ anchor.basis.mT
    of_step = of_half if saved.outward is None else saved.outward.mT @ of_half
    f = saved.factor[..., None, None]
    of_anchor = None
    if anchor is None:
        of_turned = symmetrize(of_step)
        of_factor = (of_turned * turned).sum((-2, -1)).sum(0)
    else:
        along_root = pair(step, of_step, lead) if needs_anchor else None
        assert saved.mask is not None
        of_step = of_step.mul_(0.5 * saved.mask)
        of_turned = of_step + of_step.mT
        products = outer(of_turned, turned, lead)
        of_factor = products.diagonal(dim1=-2, dim2=-1).sum((-2, -1))
        if along_root is not None:
            unmasked = products * (anchor.root.unsqueeze(-2) / saved.mask).unsqueeze(-1)
            through_sum = f * sum_gradient(unmasked, anchor.values, -0.5)
            of_root = symmetrize(along_root / anchor.root.unsqueeze(-1))
            inside = root_loewner(anchor)[0] * of_root + 2**0.5 * through_sum
            of_anchor = symmetrize(anchor.basis @ inside @ anchor.basis.mT)
    of_folded = right((f * saved.turn).mT @ of_turned, saved.turn)

    of_deviation, of_f = bw_fold.backward(saved.fold, of_folded, saved.factor)
    of_factor = of_factor if of_f is None else of_factor + of_f
    inverse_deviation = safe_rsqrt(saved.variance + arguments.eps)
    of_scale = of_factor * inverse_deviation if scaled else None
    of_variance = -0.5 * of_factor * saved.factor * inverse_deviation.square()
    if own_variance:
        slope = of_variance * (2 * arguments.weight / turned.shape[0])
        of_deviation = of_deviation.addcmul_(saved.deviation, slope[..., None, None])

    of_y, of_mean_parts = _through_root(saved, of_deviation, lead, needs_mean=needs_mean)
    of_k = of_mean = None
    if k is not None or of_mean_parts is not None:
        through_p = 2 * pair(of_y, saved.p @ x, lead)
        if k is not None:
            of_k = (at.basis * at.root.unsqueeze(-2)) @ through_p
        if of_mean_parts is not None:
            of_root = through_p @ at.basis if k is None else through_p @ k.mT @ at.basis
            inside = of_mean_parts + root_loewner(at)[0] * symmetrize(of_root)
            of_mean = symmetrize(at.basis @ inside @ at.basis.mT)
    of_samples = right(of_y, saved.p)
    return Gradients(saved.p, of_samples, of_k, of_mean, of_outward, of_anchor, of_scale, of_variance)


def _through_root(saved: Saved, of_deviation: Tensor, lead: int, *, needs_mean: bool) -> tuple[Tensor, Tensor | None]:
    """Gradient in the samples' congruences, and what B^1/2 and B^-1/2 around the root give to that of B."""
    at, samples = saved.at, saved.samples
    weight = _half_sum_root(at)
    both = at.inverse.unsqueeze(-1) * at.inverse.unsqueeze(-2)
    inside = None
    if needs_mean:
        # Z_kj = (E_kj + B^1/2) / w_kj, divided after the sum over samples.
        products = outer(of_deviation, saved.deviation, lead)
        total = of_deviation.sum(0)
        products.diagonal(dim1=-3, dim2=-1).add_(total * at.root.unsqueeze(-2))
        inverse_weight = saved.weight.reciprocal()
        products = products * inverse_weight.masked_fill_(inverse_weight.isinf(), 0.0).unsqueeze(-2)
        # sum_j w_ij b_j^-1/2 P_jik, for the root on one side; its transpose for the other.
        of_inverse = (products * (weight * at.inverse.unsqueeze(-1)).unsqueeze(-1)).sum(-3)
        through_sum = sum_gradient(products * both.unsqueeze(-2), at.values, 0.5)
        loewner, inverse_loewner = root_loewner(at)
        inside = inverse_loewner * (of_inverse + of_inverse.mT) - loewner * total
        inside = inside + 0.5**0.5 * through_sum
    of_pulled = of_deviation.mul_(saved.weight)
    return sample_root_adjoint(samples, samples.basis @ of_pulled @ samples.basis.mT), inside
