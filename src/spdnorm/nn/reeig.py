"""Eigenvalue rectification layer."""

from __future__ import annotations

from torch import Tensor, nn

from spdnorm.functional.reeig import rectify_eigenvalues


class ReEig(nn.Module):
    """U max(L, threshold I) U^T: the non-linearity of SPDNet (Huang and Van Gool 2017, Eq. (2)).

    Parameters
    ----------
    threshold : float
        Least eigenvalue of the output, positive.

    Examples
    --------
    >>> from spdnorm.nn import ReEig
    >>> ReEig(0.5)(torch.diag(torch.tensor([0.0, 2.0])))
    tensor([[0.5000, 0.0000],
            [0.0000, 2.0000]])
    """

    def __init__(self, threshold: float = 1e-4) -> None:
        super().__init__()
        if not threshold > 0:
            raise ValueError(f"`threshold` must be positive, got {threshold}")
        self.threshold = float(threshold)

    def forward(self, x: Tensor) -> Tensor:
        """Symmetric (..., n, n) -> SPD (..., n, n)."""
        return rectify_eigenvalues(x, self.threshold)

    def extra_repr(self) -> str:
        """The threshold."""
        return f"threshold={self.threshold:g}"
