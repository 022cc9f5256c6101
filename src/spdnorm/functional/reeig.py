"""Rectified eigenvalues (Huang and Van Gool 2017, Eq. (2))."""

from __future__ import annotations

from torch import Tensor

from spdnorm.linalg import Clamp, full_precision, matrix_function


@full_precision
def rectify_eigenvalues(x: Tensor, threshold: float = 1e-4) -> Tensor:
    """Raise the eigenvalues of symmetric ``x`` (..., n, n) to at least ``threshold``.

    Examples
    --------
    >>> from spdnorm.functional import rectify_eigenvalues
    >>> rectify_eigenvalues(torch.diag(torch.tensor([0.0, 2.0])), 0.5)
    tensor([[0.5000, 0.0000],
            [0.0000, 2.0000]])
    """
    return matrix_function(x, Clamp(float(threshold)))
