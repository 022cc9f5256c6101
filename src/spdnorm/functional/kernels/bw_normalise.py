"""Centre, scale and bias under the Bures-Wasserstein metric, forward and backward (paper, Eqs. (center) to (bias)).

In the eigenbasis of B the samples' deviations are E = w o Z - B^1/2 with Z = (B^1/2 K X K B^1/2)^1/2 and
w_ij = sqrt((b_i + b_j) / 2) / sqrt(b_i b_j). Turned into the eigenbasis of the bias G, by one rotation from basis to
basis, they give Y = L L^T with L = H (I + f v o E) G^1/2, v_ij = sqrt(2 / (g_i + g_j)), H = M^1/2 (the basis of G)
and f = s / sqrt(variance + eps). Everything between two rotations is elementwise.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from spdnorm.functional.kernels.bw_passes import Deviations, Frame, Passes, Rebuilt
from spdnorm.functional.kernels.bw_products import Roots, root_loewner, roots_of, sum_gradient
from spdnorm.linalg import safe_rsqrt, symmetrize


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
    """

    eps: float
    stats_grad: bool
    weight: float


class Saved(NamedTuple):
    """What the backward pass needs."""

    at: Roots
    weight: Tensor
    p: Tensor
    deviations: Deviations
    rebuilt: Rebuilt
    frame: Frame
    variance: Tensor
    anchor: Roots | None


class Gradients(NamedTuple):
    """Gradients of the inputs: the samples, K, B, the outward root and so on."""

    of_x: Tensor
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
    passes: Passes,
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
    p = at.root.unsqueeze(-1) * at.basis.mT
    p = p if k is None else p @ k
    weight = _deviation_weight(at)
    deviations = passes.deviate(x, p, weight, at.root)
    if variance is None:
        variance = arguments.weight * deviations.length.square().mean(0)
    factor = safe_rsqrt(variance + arguments.eps)
    factor = factor if scale is None else scale * factor
    base = None if anchor is None else roots_of(anchor, definite=True)
    if base is None:
        frame = Frame(factor, at.basis, None, None, outward)
    else:
        out_of = base.basis if outward is None else outward @ base.basis
        frame = Frame(factor, base.basis.mT @ at.basis, _mask(base), base.root, out_of)
    out, rebuilt = passes.rebuild(deviations, frame)
    return out, Saved(at, weight, p, deviations, rebuilt, frame, variance, base)


def backward(
    passes: Passes,
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
    at, anchor, factor = saved.at, saved.anchor, saved.frame.factor
    found = passes.rebuild_adjoint(
        saved.rebuilt,
        saved.frame,
        grad,
        needs_anchor=needs_anchor and anchor is not None,
        needs_outward=needs_outward,
    )
    of_outward = found.of_outward
    of_anchor = None
    if anchor is not None:
        of_outward = None if of_outward is None else of_outward @ anchor.basis.mT
        if found.along_root is not None and found.products is not None and saved.frame.mask is not None:
            unmasked = found.products * (anchor.root.unsqueeze(-2) / saved.frame.mask).unsqueeze(-1)
            through_sum = factor[..., None, None] * sum_gradient(unmasked, anchor.values, -0.5)
            of_root = symmetrize(found.along_root / anchor.root.unsqueeze(-1))
            inside = root_loewner(anchor)[0] * of_root + 2**0.5 * through_sum
            of_anchor = symmetrize(anchor.basis @ inside @ anchor.basis.mT)

    inverse_deviation = safe_rsqrt(saved.variance + arguments.eps)
    of_scale = found.of_factor * inverse_deviation if scaled else None
    of_variance = -0.5 * found.of_factor * factor * inverse_deviation.square()
    slope = of_variance * (2 * arguments.weight / x.shape[0]) if own_variance else None

    behind = passes.deviate_adjoint(
        saved.deviations,
        found.of_deviation,
        slope,
        x,
        saved.p,
        saved.weight,
        needs_p=k is not None or needs_mean,
        needs_mean=needs_mean,
    )
    of_k = of_mean = None
    if behind.of_p is not None:
        if k is not None:
            of_k = (at.basis * at.root.unsqueeze(-2)) @ behind.of_p
        if behind.products is not None and behind.total is not None:
            of_root = behind.of_p @ at.basis if k is None else behind.of_p @ k.mT @ at.basis
            inside = _of_mean_parts(saved, behind.products, behind.total) + root_loewner(at)[0] * symmetrize(of_root)
            of_mean = symmetrize(at.basis @ inside @ at.basis.mT)
    return Gradients(behind.of_x, of_k, of_mean, of_outward, of_anchor, of_scale, of_variance)


def _of_mean_parts(saved: Saved, products: Tensor, total: Tensor) -> Tensor:
    """What B^1/2 and B^-1/2 around the samples' roots give to the gradient of B, in its eigenbasis."""
    at = saved.at
    both = at.inverse.unsqueeze(-1) * at.inverse.unsqueeze(-2)
    # Z_kj = (E_kj + B^1/2) / w_kj, divided after the sum over samples.
    products.diagonal(dim1=-3, dim2=-1).add_(total * at.root.unsqueeze(-2))
    inverse_weight = saved.weight.reciprocal()
    products = products * inverse_weight.masked_fill_(inverse_weight.isinf(), 0.0).unsqueeze(-2)
    # sum_j w_ij b_j^-1/2 P_jik, for the root on one side; its transpose for the other.
    of_inverse = (products * (_half_sum_root(at) * at.inverse.unsqueeze(-1)).unsqueeze(-1)).sum(-3)
    through_sum = sum_gradient(products * both.unsqueeze(-2), at.values, 0.5)
    loewner, inverse_loewner = root_loewner(at)
    return inverse_loewner * (of_inverse + of_inverse.mT) - loewner * total + 0.5**0.5 * through_sum
