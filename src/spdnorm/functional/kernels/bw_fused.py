"""The steps of :mod:`spdnorm.functional.kernels.bw_steps`, forward and backward, in as few products as they need.

What is shared by the samples (B, G, K, P) enters as one large matrix product, sums over samples are taken before the
n x n quantities are met, and everything between two rotations is elementwise. Backward passes save bases, not graphs.
A second derivative goes through the plain composition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from spdnorm.functional.kernels import bw_steps
from spdnorm.linalg import PSEUDO_INV_SQRT, SQRT, divided_differences, eigh, eye_like, rank_tolerance, symmetrize


def usable(x: Tensor) -> bool:
    """Whether the fused functions serve here: not while tracing, nor inside a functorch transform."""
    return not torch.compiler.is_compiling() and torch._C._functorch.maybe_current_level() is None


def _shared_right(x: Tensor, a: Tensor) -> Tensor:
    """X A for samples (N, ..., n, n): one product when ``a`` is (n, m)."""
    if a.dim() == 2:
        return (x.reshape(-1, x.shape[-1]) @ a).reshape(*x.shape[:-1], a.shape[-1])
    return x @ a


def _shared_congruence(a: Tensor, x: Tensor) -> Tensor:
    """A X A^T for symmetric samples; symmetric up to rounding."""
    return _shared_right(_shared_right(x, a.mT).mT, a.mT)


def _pair(left: Tensor, right: Tensor, lead: int) -> Tensor:
    """Sum over samples of L^T R, shape (..., n, n); ``lead`` axes of channels stay."""
    if lead == 0:
        n = left.shape[-1]
        return left.reshape(-1, n).mT @ right.reshape(-1, right.shape[-1])
    return (left.mT @ right).sum(0)


def _outer(left: Tensor, right: Tensor, lead: int) -> Tensor:
    """P_ikj = sum over samples of L_ij R_kj, shape (..., n, n, n)."""
    if lead == 0:
        # Samples innermost and contiguous, so that each j is one product.
        paired = left.permute(2, 1, 0).contiguous() @ right.permute(2, 0, 1).contiguous()
        return paired.permute(1, 2, 0)
    return torch.einsum("s...ij,s...kj->...ikj", left, right)


def _sum_gradient(outer: Tensor, values: Tensor, power: float) -> Tensor:
    """Gradient in X, in its eigenbasis, of the operator h = (x_i + x_j)^power: sum_j h[x_i + x_j, x_k + x_j] P_ikj."""
    total = values.unsqueeze(-1) + values.unsqueeze(-2)
    null = total <= 2 * rank_tolerance(values).unsqueeze(-1)
    root = torch.where(null, torch.zeros_like(total), total).sqrt()
    both = root.unsqueeze(-2) + root.unsqueeze(-3)
    quotient = torch.where(both > 0, 1 / torch.where(both > 0, both, 1.0), 0.0)
    if power == -0.5:
        inverse = torch.where(null, 0.0, 1 / torch.where(null, 1.0, root))
        quotient = -quotient * inverse.unsqueeze(-2) * inverse.unsqueeze(-3)
    inner = (quotient * outer).sum(-1)
    return inner + inner.mT


def _root(values: Tensor) -> Tensor:
    return values.clamp_min(0).sqrt()


def _root_adjoint(vectors: Tensor, values: Tensor, grad: Tensor) -> Tensor:
    """U (L o (U^T S U)) U^T with the Loewner matrix L of the square root (paper, Eq. (svd)), S symmetric."""
    loewner = divided_differences(SQRT, values, 1)
    return vectors @ (loewner * (vectors.mT @ grad @ vectors)) @ vectors.mT


def _again(function: Callable[..., Tensor], inputs: tuple[Tensor, ...], grad: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients that can be differentiated: those of the plain composition."""
    wanted = [t for t in inputs if t.requires_grad]
    found = iter(torch.autograd.grad(function(*inputs), wanted, grad, create_graph=True))
    return tuple(next(found) if t.requires_grad else None for t in inputs)


class _RootOfCongruence(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: Tensor) -> Tensor:
        right = _shared_right(x, p.mT)
        values, vectors = eigh(_shared_right(right.mT, p.mT))
        ctx.save_for_backward(x, p, right, values, vectors)
        return (vectors * _root(values).unsqueeze(-2)) @ vectors.mT

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, p, right, values, vectors = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _again(bw_steps.root_of_congruence, (x, p), grad)
        inner = _root_adjoint(vectors, values, symmetrize(grad))
        of_x = _shared_congruence(p.mT, inner) if ctx.needs_input_grad[0] else None
        of_p = 2 * _pair(inner, right.mT, p.dim() - 2) if ctx.needs_input_grad[1] else None
        return of_x, of_p


class _Deviation(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, mean: Tensor, k: Tensor) -> Tensor:
        b, basis = eigh(mean)
        root = _root(b)
        p = root.unsqueeze(-1) * (basis.mT @ k)
        right = _shared_right(x, p.mT)
        values, vectors = eigh(_shared_right(right.mT, p.mT))
        pulled = (vectors * _root(values).unsqueeze(-2)) @ vectors.mT
        inverse = PSEUDO_INV_SQRT.value(b)
        weight = (0.5 * (b.unsqueeze(-1) + b.unsqueeze(-2)).clamp_min(0)).sqrt()
        scaled = weight * inverse.unsqueeze(-1) * inverse.unsqueeze(-2) * pulled - torch.diag_embed(root)
        ctx.save_for_backward(x, mean, k, b, basis, right, values, vectors, pulled)
        return _shared_congruence(basis, scaled)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, k, b, basis, right, values, vectors, pulled = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _again(bw_steps.deviation, (x, mean, k), grad)
        lead = mean.dim() - 2
        root, inverse = _root(b), PSEUDO_INV_SQRT.value(b)
        weight = (0.5 * (b.unsqueeze(-1) + b.unsqueeze(-2)).clamp_min(0)).sqrt()
        both = inverse.unsqueeze(-1) * inverse.unsqueeze(-2)
        of_deviation = _shared_congruence(basis.mT, symmetrize(grad))
        of_map = weight * of_deviation
        of_y = _root_adjoint(vectors, values, both * of_map)
        p = root.unsqueeze(-1) * (basis.mT @ k)
        of_x = _shared_congruence(p.mT, of_y) if ctx.needs_input_grad[0] else None
        of_mean = of_k = None
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            through_p = _pair(of_y, right.mT, lead)
            of_k = 2 * basis @ (root.unsqueeze(-1) * through_p)
            if ctx.needs_input_grad[1]:
                of_root = through_p @ k.mT @ basis
                # Axis 0 holds the samples: B^1/2 is subtracted from each.
                of_root = of_root + of_root.mT - of_deviation.sum(0)
                of_inverse = _pair(of_map, inverse.unsqueeze(-1) * pulled, lead)
                of_inverse = of_inverse + of_inverse.mT
                through_sum = _sum_gradient(_outer(of_deviation, both * pulled, lead), b, 0.5)
                inside = (
                    divided_differences(SQRT, b, 1) * of_root
                    + divided_differences(PSEUDO_INV_SQRT, b, 1) * of_inverse
                    + 0.5**0.5 * through_sum
                )
                of_mean = symmetrize(basis @ inside @ basis.mT)
        return of_x, of_mean, of_k


class _Biased(Function):
    @staticmethod
    def forward(ctx: Any, e: Tensor, bias: Tensor, k: Tensor) -> Tensor:
        g, basis = eigh(bias)
        turned = _shared_congruence(basis.mT, e)
        weight = (2 / (g.unsqueeze(-1) + g.unsqueeze(-2))).sqrt()
        step = eye_like(e) + weight * turned
        outward = k @ basis
        half = _shared_right((step * g.sqrt().unsqueeze(-2)).mT, outward.mT).mT
        ctx.save_for_backward(e, bias, k, g, basis, turned, step, half)
        return half @ half.mT

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        e, bias, k, g, basis, turned, step, half = ctx.saved_tensors
        if torch.is_grad_enabled():
            return _again(bw_steps.biased, (e, bias, k), grad)
        lead = bias.dim() - 2
        outward = k @ basis
        of_half = (grad + grad.mT) @ half
        root = g.sqrt()
        # The gradient of (I + L) G^1/2 in the eigenbasis of G, transposed: samples' rows are its columns.
        of_inner = _shared_right(of_half.mT, outward)
        weight = (2 / (g.unsqueeze(-1) + g.unsqueeze(-2))).sqrt()
        of_step = symmetrize(root.unsqueeze(-1) * of_inner)
        of_e = _shared_congruence(basis, weight * of_step) if ctx.needs_input_grad[0] else None
        of_bias = of_k = None
        if ctx.needs_input_grad[1]:
            of_root = _pair(step, of_inner.mT, lead)
            through_sum = _sum_gradient(_outer(of_step, turned, lead), g, -0.5)
            inside = divided_differences(SQRT, g, 1) * symmetrize(of_root) + 2**0.5 * through_sum
            of_bias = symmetrize(basis @ inside @ basis.mT)
        if ctx.needs_input_grad[2]:
            scaled = (step * root.unsqueeze(-2)).mT
            of_k = _pair(of_half.mT, scaled, lead) @ basis.mT
        return of_e, of_bias, of_k


def root_of_congruence(x: Tensor, p: Tensor) -> Tensor:
    """See :func:`spdnorm.functional.kernels.bw_steps.root_of_congruence`."""
    return _RootOfCongruence.apply(x, p) if usable(x) else bw_steps.root_of_congruence(x, p)


def deviation(x: Tensor, mean: Tensor, k: Tensor) -> Tensor:
    """See :func:`spdnorm.functional.kernels.bw_steps.deviation`."""
    return _Deviation.apply(x, mean, k) if usable(x) else bw_steps.deviation(x, mean, k)


def biased(e: Tensor, bias: Tensor, k: Tensor) -> Tensor:
    """See :func:`spdnorm.functional.kernels.bw_steps.biased`."""
    return _Biased.apply(e, bias, k) if usable(e) else bw_steps.biased(e, bias, k)
