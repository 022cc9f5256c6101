"""Logarithm layer: from SPD matrices to vectors."""

from __future__ import annotations

from torch import Tensor, nn

from spdnorm.functional.logeig import check_vectorisation, log_eigenvalues


class LogEig(nn.Module):
    """log X, laid out for a linear layer (Huang and Van Gool 2017, Eq. (3)).

    Parameters
    ----------
    vectorize : "half", "full" or "none"
        Half-vectorisation that keeps the norm, (..., n (n + 1) / 2); all entries, (..., n * n), as the released code
        of the paper has it; or the matrix, (..., n, n).
    threshold : float, optional
        Rectify first: ``LogEig(threshold=t)(x)`` is ``LogEig()(ReEig(t)(x))`` for one eigendecomposition, not two.

    Examples
    --------
    >>> from spdnorm.nn import LogEig
    >>> LogEig()(torch.eye(3).expand(2, 3, 3)).shape
    torch.Size([2, 6])
    """

    def __init__(self, *, vectorize: str = "half", threshold: float | None = None) -> None:
        super().__init__()
        check_vectorisation(vectorize)
        if threshold is not None and not threshold > 0:
            raise ValueError(f"`threshold` must be positive or None, got {threshold}")
        self.vectorize, self.threshold = vectorize, threshold

    def forward(self, x: Tensor) -> Tensor:
        """SPD (..., n, n) -> (..., :meth:`out_features`) or (..., n, n)."""
        return log_eigenvalues(x, threshold=self.threshold, vectorize=self.vectorize)

    def out_features(self, num_features: int) -> int:
        """Length of the vector that a matrix of this size becomes."""
        return num_features * (num_features + 1) // 2 if self.vectorize == "half" else num_features**2

    def extra_repr(self) -> str:
        """The layout and the threshold."""
        return f"vectorize={self.vectorize!r}, threshold={self.threshold}"
