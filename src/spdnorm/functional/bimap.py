"""The bilinear map of SPDNet (Huang and Van Gool 2017, Eq. (1))."""

from __future__ import annotations

from torch import Tensor

from spdnorm.linalg import check_alike, check_symmetric, congruence, full_precision


@full_precision
def bimap(x: Tensor, weight: Tensor) -> Tensor:
    """W X W^T.

    Parameters
    ----------
    x : Tensor, shape (..., n, n)
        Symmetric.
    weight : Tensor, shape (m, n), or (channels, m, n) for ``x`` of shape (..., channels, n, n)
        With orthonormal rows it keeps the spectrum of X within its bounds.

    Returns
    -------
    Tensor, shape (..., m, m), symmetric to the last bit

    Examples
    --------
    >>> from spdnorm.functional import bimap
    >>> bimap(torch.diag(torch.tensor([1.0, 2.0, 3.0])), torch.eye(2, 3))  # W X W^T
    tensor([[1., 0.],
            [0., 2.]])
    """
    check_symmetric(x, "x")
    check_alike(x=x, weight=weight)
    return congruence(weight, x)
