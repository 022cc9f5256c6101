"""The passes of Bures-Wasserstein normalisation in torch: on any device, with channels, for any size."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.functional.kernels import bw_fold
from spdnorm.functional.kernels.bw_passes import DeviationGradients, Deviations, Frame, Rebuilt, RebuiltGradients
from spdnorm.functional.kernels.bw_products import (
    SampleRoot,
    multiply_add,
    outer,
    pair,
    right,
    sample_root,
    sample_root_adjoint,
)
from spdnorm.linalg import symmetrize


class TorchPasses:
    """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""

    def root_sum(self, x: Tensor, p: Tensor) -> tuple[Tensor, SampleRoot]:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`: the sum is one product of scaled eigenvectors, no root of a sample is ever formed."""
        samples, scaled = sample_root(right(p @ x, p.mT))
        return pair(scaled, scaled, x.dim() - 3), samples

    def root_sum_adjoint(
        self, samples: SampleRoot, x: Tensor, p: Tensor, grad: Tensor, of_x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        of_y = sample_root_adjoint(samples, right(samples.basis, grad) @ samples.basis.mT)
        of_p = 2 * pair(of_y, p @ x, x.dim() - 3)
        return multiply_add(of_x, p.mT, right(of_y, p)), of_p

    def deviate(self, x: Tensor, p: Tensor, weight: Tensor, root: Tensor) -> Deviations:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        samples, scaled = sample_root(right(p @ x, p.mT))
        value = (scaled.mT @ scaled).mul_(weight)
        value.diagonal(dim1=-2, dim2=-1).sub_(root)
        return Deviations(value, torch.linalg.vector_norm(value, dim=(-2, -1)), samples)

    def deviate_adjoint(
        self,
        deviations: Deviations,
        of_deviation: Tensor,
        slope: Tensor | None,
        x: Tensor,
        p: Tensor,
        weight: Tensor,
        *,
        needs_p: bool,
        needs_mean: bool,
    ) -> DeviationGradients:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`; ``of_deviation`` is overwritten."""
        lead, samples = x.dim() - 3, deviations.samples
        if slope is not None:
            of_deviation = of_deviation.addcmul_(deviations.value, slope[..., None, None])
        products = outer(of_deviation, deviations.value, lead) if needs_mean else None
        total = of_deviation.sum(0) if needs_mean else None
        pulled = of_deviation.mul_(weight)
        of_y = sample_root_adjoint(samples, samples.basis @ pulled @ samples.basis.mT)
        of_p = 2 * pair(of_y, p @ x, lead) if needs_p else None
        return DeviationGradients(p.mT @ right(of_y, p), of_p, products, total)

    def rebuild(self, deviations: Deviations, frame: Frame) -> tuple[Tensor, Rebuilt]:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        folded, fold = bw_fold.forward(deviations.value, deviations.length, frame.factor)
        turned = right(frame.turn @ folded, frame.turn.mT)
        half = _half(frame, _step(frame, turned))
        return half @ half.mT, Rebuilt(fold, turned)

    def rebuild_adjoint(
        self,
        rebuilt: Rebuilt,
        frame: Frame,
        grad: Tensor,
        *,
        needs_anchor: bool,
        needs_outward: bool,
    ) -> RebuiltGradients:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        turned = rebuilt.turned
        lead = turned.dim() - 3
        step = _step(frame, turned)
        of_half = (grad + grad.mT) @ _half(frame, step)
        of_outward = (of_half @ step.mT).sum(0) if needs_outward else None
        of_step = of_half if frame.outward is None else frame.outward.mT @ of_half
        along_root = pair(step, of_step, lead) if needs_anchor else None
        of_turned = symmetrize(of_step if frame.mask is None else of_step.mul_(frame.mask))
        of_factor = (of_turned * turned).sum((-2, -1)).sum(0)
        products = outer(of_turned, turned, lead) if needs_anchor else None
        f = frame.factor[..., None, None]
        of_folded = right((f * frame.turn).mT @ of_turned, frame.turn)
        of_deviation, of_f = bw_fold.backward(rebuilt.fold, of_folded, frame.factor)
        of_factor = of_factor if of_f is None else of_factor + of_f
        return RebuiltGradients(of_deviation, of_factor, products, along_root, of_outward)


def _step(frame: Frame, turned: Tensor) -> Tensor:
    """S of :class:`Frame`."""
    f = frame.factor[..., None, None]
    step = turned * (f if frame.mask is None else f * frame.mask)
    step.diagonal(dim1=-2, dim2=-1).add_(1 if frame.diagonal is None else frame.diagonal)
    return step


def _half(frame: Frame, step: Tensor) -> Tensor:
    return step if frame.outward is None else frame.outward @ step
