"""The one place that says how small is zero.

Every threshold of the library is a multiple of the dtype's machine epsilon, so that float32 and float64
behave alike, and none is an absolute number, so that rescaling the data changes nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor


def rank_tolerance(values: Tensor) -> Tensor:
    """Eigenvalues at or below this count as zero: ``n * eps * max|values|``, as NumPy's ``matrix_rank`` has it.

    Parameters
    ----------
    values : Tensor, shape (..., n)

    Returns
    -------
    Tensor, shape (..., 1)

    Examples
    --------
    >>> from spdnorm.linalg import rank_tolerance
    >>> rank_tolerance(torch.tensor([0.0, 1.0])).item() == 2 * torch.finfo(torch.float32).eps
    True
    """
    n = values.shape[-1]
    if n == 0:
        return values.new_zeros((*values.shape[:-1], 1))
    return n * torch.finfo(values.dtype).eps * values.abs().amax(-1, keepdim=True)


def symmetry_tolerance(dtype: torch.dtype) -> float:
    """Largest ``max|X - X^T| / max|X|`` that passes for rounding: the square root of epsilon.

    Examples
    --------
    >>> from spdnorm.linalg import symmetry_tolerance
    >>> symmetry_tolerance(torch.float64) == torch.finfo(torch.float64).eps ** 0.5
    True
    """
    return torch.finfo(dtype).eps ** 0.5


def gap_tolerance(dtype: torch.dtype, order: int) -> float:
    """Relative gap under which a divided difference of this order is taken from its Taylor series.

    The recursion loses ``eps / gap`` an order, the series (cut after three terms) ``gap^4``;
    ``eps^(1 / (order + 4))`` balances the two.

    Examples
    --------
    >>> from spdnorm.linalg import gap_tolerance
    >>> gap_tolerance(torch.float64, 2) < gap_tolerance(torch.float32, 2)
    True
    """
    return torch.finfo(dtype).eps ** (1.0 / (order + 4))
