"""The passes of Bures-Wasserstein normalisation, compiled: for the CPU, without channels.

One sample's matrices are too small for the processor's vector units, and a torch call on a batch of them costs more than
its arithmetic. Here several samples go through a whole pass side by side, in the lanes of vector registers
(``bures_wasserstein.cpp``); what a later pass needs of them stays in that layout, in flat tensors.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from spdnorm.functional.kernels.bw_passes import DeviationGradients, Deviations, Frame, Rebuilt, RebuiltGradients
from spdnorm.linalg import check_congruent
from spdnorm.linalg.native import TYPE_NAMES
from spdnorm.linalg.native.build import BuildError, library

_SOURCE = Path(__file__).parent / "bures_wasserstein.cpp"
#: Multiplications (N n^3) that are worth another thread, which takes some 20 microseconds to start.
LEAST_WORK = 100_000


class _Batch(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("n", ctypes.c_int32), ("threads", ctypes.c_int32)]


class Roots(NamedTuple):
    """Eigenvectors and roots of the eigenvalues of pulled samples, in lanes."""

    vectors: Tensor
    roots: Tensor


class Fold(NamedTuple):
    """Eigenvectors and eigenvalues of deviations and which of them fold, in lanes."""

    basis: Tensor
    values: Tensor
    folds: Tensor


def unavailable() -> str | None:
    """Why there are no compiled passes; ``None`` where there are."""
    found = library(_SOURCE)
    return str(found) if isinstance(found, BuildError) else None


@cache
def _function(name: str, dtype: torch.dtype) -> Any:
    found = library(_SOURCE)
    if isinstance(found, BuildError):
        raise RuntimeError(f"there are no compiled passes: {found}")
    return getattr(found, f"{name}_{TYPE_NAMES[dtype]}")


class _Call:
    """Calls on one batch: tensors go by address, ``None`` as no address."""

    def __init__(self, x: Tensor, count: int, n: int) -> None:
        self.like, self.n = x, n
        threads = torch.get_num_threads() if count * n**3 >= LEAST_WORK else 1
        self.batch = _Batch(count, n, threads)
        lanes = _function("lanes", x.dtype)()
        self.slots = -(-count // lanes) * lanes

    def lanes(self, elements: int) -> Tensor:
        """Room for so many numbers a sample."""
        return self.like.new_empty(self.slots * elements)

    def __call__(self, name: str, *arguments: Tensor | None) -> int:
        addresses = [None if a is None else ctypes.c_void_p(a.data_ptr()) for a in arguments]
        status: int = _function(name, self.like.dtype)(self.batch, *addresses)
        return status


def _checked(status: int, extremes: Tensor) -> None:
    check_congruent(extremes, "x")
    if status:
        raise torch.linalg.LinAlgError("an eigendecomposition of the samples did not converge")


class NativePasses:
    """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""

    def root_sum(self, x: Tensor, p: Tensor) -> tuple[Tensor, Roots]:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        x, p = x.contiguous(), p.contiguous()
        n = x.shape[-1]
        call = _Call(x, x.shape[0], n)
        samples = Roots(call.lanes(n * n), call.lanes(n))
        total, extremes = x.new_empty(n, n), x.new_empty(2)
        _checked(call("root_sum", x, p, *samples, total, extremes), extremes)
        return total, samples

    def root_sum_adjoint(
        self, samples: Roots, x: Tensor, p: Tensor, grad: Tensor, of_x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        x, p, grad = x.contiguous(), p.contiguous(), grad.contiguous()
        of_p = torch.empty_like(p)
        _Call(x, x.shape[0], x.shape[-1])("root_sum_adjoint", x, p, *samples, grad, of_x, of_p)
        return of_x, of_p.mul_(2)

    def deviate(self, x: Tensor, p: Tensor, weight: Tensor, root: Tensor) -> Deviations:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        x, p, weight, root = x.contiguous(), p.contiguous(), weight.contiguous(), root.contiguous()
        n = x.shape[-1]
        call = _Call(x, x.shape[0], n)
        samples, value = Roots(call.lanes(n * n), call.lanes(n)), call.lanes(n * n)
        length, extremes = x.new_empty(x.shape[0]), x.new_empty(2)
        _checked(call("deviate", x, p, weight, root, *samples, value, length, extremes), extremes)
        return Deviations(value, length, samples)

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
        x, p, weight = x.contiguous(), p.contiguous(), weight.contiguous()
        n = x.shape[-1]
        call = _Call(x, x.shape[0], n)
        slope = x.new_zeros(()) if slope is None else slope
        of_x, total = torch.empty_like(x), x.new_empty(n, n)
        of_p = torch.empty_like(p) if needs_p else None
        samples, value = deviations.samples, deviations.value
        call("deviate_adjoint", x, p, weight, *samples, value, slope, of_deviation, total, of_x, of_p)
        products = x.new_empty(n, n, n) if needs_mean else None
        if needs_mean:
            call("outer", of_deviation, value, products)
        return DeviationGradients(of_x, None if of_p is None else of_p.mul_(2), products, total if needs_mean else None)

    def rebuild(self, deviations: Deviations, frame: Frame) -> tuple[Tensor, Rebuilt]:
        """See :class:`~spdnorm.functional.kernels.bw_passes.Passes`."""
        n, count = frame.turn.shape[-1], deviations.length.shape[0]
        call, (factor, turn, mask, diagonal, outward) = _call(deviations.value, frame, count)
        # The Frobenius norm bounds the eigenvalues: below 1 neither I + E nor I + f E is indefinite.
        reach = float(factor.abs().clamp_min(1))
        folding = bool((deviations.length * reach >= 1).any())
        fold = Fold(call.lanes(n * n), call.lanes(n), call.lanes(1)) if folding else None
        turned, out = call.lanes(n * n), turn.new_empty(count, n, n)
        room = (None, None, None) if fold is None else fold
        if call("rebuild", deviations.value, factor, *room, turn, mask * factor, diagonal, outward, turned, out):
            raise torch.linalg.LinAlgError("an eigendecomposition of the deviations did not converge")
        return out, Rebuilt(fold, turned)

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
        grad = grad.contiguous()
        n = grad.shape[-1]
        call, (factor, turn, mask, diagonal, outward) = _call(grad, frame, grad.shape[0])
        fold = (None, None, None) if rebuilt.fold is None else rebuilt.fold
        of_deviation, of_factor = call.lanes(n * n), turn.new_empty(2)
        of_turned = call.lanes(n * n) if needs_anchor else None
        along_root = torch.empty_like(turn) if needs_anchor else None
        of_outward = torch.empty_like(turn) if needs_outward else None
        where = turn, mask * factor, diagonal, mask, outward
        found = of_turned, of_deviation, of_outward, along_root, of_factor
        call("rebuild_adjoint", grad, rebuilt.turned, factor, *fold, *where, *found)
        products = turn.new_empty(n, n, n) if needs_anchor else None
        if needs_anchor:
            call("outer", of_turned, rebuilt.turned, products)
        return RebuiltGradients(of_deviation, of_factor.sum(), products, along_root, of_outward)


def _call(batch: Tensor, frame: Frame, count: int) -> tuple[_Call, tuple[Any, ...]]:
    """Calls on ``batch``, and the frame's parts as plain arrays."""
    factor, turn, mask, diagonal, outward = frame
    n = turn.shape[-1]
    mask = turn.new_ones(n, n) if mask is None else mask.contiguous()
    diagonal = turn.new_ones(n) if diagonal is None else diagonal.contiguous()
    plain = factor.contiguous(), turn.contiguous(), mask, diagonal
    return _Call(batch, count, n), (*plain, None if outward is None else outward.contiguous())
