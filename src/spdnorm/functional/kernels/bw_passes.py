"""What Bures-Wasserstein normalisation does sample by sample, as passes over the batch.

:mod:`spdnorm.functional.kernels.bw_torch_passes` has them in torch, :mod:`spdnorm.functional.kernels.native` compiled, for
the CPU. Between two passes stand only quantities that all samples share, which are the business of
:mod:`spdnorm.functional.kernels.bw_barycentre` and :mod:`spdnorm.functional.kernels.bw_normalise`: B is the barycentre, G
the bias, P pulls samples.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from torch import Tensor


class Deviations(NamedTuple):
    """E = w o (P X P^T)^1/2 - B^1/2 in the eigenbasis of B, its length (N, ...), and the samples' decompositions."""

    value: Tensor
    length: Tensor
    samples: Any


class Rebuilt(NamedTuple):
    """What the way back from rebuilt samples needs: the folds, and the deviations in the eigenbasis of G."""

    fold: Any
    turned: Tensor


class Frame(NamedTuple):
    """How samples are rebuilt: L = H (f m o (R psi(E) R^T) + diag(d)) with the turn R from the eigenbasis of B to that of G.

    Attributes
    ----------
    factor : Tensor, shape (...)
        f.
    turn : Tensor, shape (..., n, n)
        R.
    mask : Tensor or None, shape (..., n, n)
        m; None is 1.
    diagonal : Tensor or None, shape (..., n)
        d; None is 1.
    outward : Tensor or None, shape (..., n, n)
        H; None is I.
    """

    factor: Tensor
    turn: Tensor
    mask: Tensor | None
    diagonal: Tensor | None
    outward: Tensor | None


class RebuiltGradients(NamedTuple):
    """Gradient of E for each sample, and the sums over samples that the shared quantities are owed.

    Attributes
    ----------
    of_deviation : Tensor
    of_factor : Tensor, shape (...)
    products : Tensor or None, shape (..., n, n, n)
        P_jik = sum A_ij T_kj, A the gradient of the turned and masked deviations T: where the anchor asks for it.
    along_root : Tensor or None, shape (..., n, n)
        sum S^T (gradient of S), S what is in brackets above: likewise.
    of_outward : Tensor or None, shape (..., n, n)
        That of H, where it is asked for.
    """

    of_deviation: Tensor
    of_factor: Tensor
    products: Tensor | None
    along_root: Tensor | None
    of_outward: Tensor | None


class DeviationGradients(NamedTuple):
    """Gradients behind the deviations.

    Attributes
    ----------
    of_x : Tensor, shape (N, ..., n, n)
    of_p : Tensor or None, shape (..., n, n)
        Where it is asked for.
    products : Tensor or None, shape (..., n, n, n)
        sum (gradient of E)_ij E_kj, j first: where the mean asks for it.
    total : Tensor or None, shape (..., n, n)
        sum of the gradients of E: likewise.
    """

    of_x: Tensor
    of_p: Tensor | None
    products: Tensor | None
    total: Tensor | None


class Passes(Protocol):
    """One way to go over the samples."""

    def root_sum(self, x: Tensor, p: Tensor) -> tuple[Tensor, Any]:
        """The sum of (P X P^T)^1/2 (..., n, n), and what :meth:`root_sum_adjoint` needs."""

    def root_sum_adjoint(
        self, samples: Any, x: Tensor, p: Tensor, grad: Tensor, of_x: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Gradients of X, on top of ``of_x`` (in place), and of P; ``grad`` is symmetric."""

    def deviate(self, x: Tensor, p: Tensor, weight: Tensor, root: Tensor) -> Deviations:
        """Deviations from B; ``weight`` is w, ``root`` the diagonal of B^1/2."""

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
        """Gradients behind the deviations; ``slope`` E is added to their own first."""

    def rebuild(self, deviations: Deviations, frame: Frame) -> tuple[Tensor, Rebuilt]:
        """Normalised samples L L^T (N, ..., n, n)."""

    def rebuild_adjoint(
        self,
        rebuilt: Rebuilt,
        frame: Frame,
        grad: Tensor,
        *,
        needs_anchor: bool,
        needs_outward: bool,
    ) -> RebuiltGradients:
        """Gradients from that of the samples."""
