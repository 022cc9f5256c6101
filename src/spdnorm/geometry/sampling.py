"""Random symmetric and SPD matrices."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import symmetrize


def random_symmetric(
    shape: tuple[int, ...] | torch.Size,
    *,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """Symmetric matrices with independent normal entries.

    Examples
    --------
    >>> from spdnorm.geometry import random_symmetric
    >>> u = random_symmetric((2, 3, 3))
    >>> bool((u == u.mT).all())
    True
    """
    return symmetrize(torch.randn(shape, generator=generator, dtype=dtype, device=device))


def random_spd(
    n: int,
    *batch: int,
    condition: float = 10.0,
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """SPD matrices (*batch, n, n): random orthogonal eigenvectors, log-uniform eigenvalues.

    The eigenvalues lie about 1 and their extremes are ``condition`` apart.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> x = random_spd(3, 10, condition=100.0)
    >>> x.shape, round(float(torch.linalg.cond(x[0])))
    (torch.Size([10, 3, 3]), 100)
    """
    if condition < 1:
        raise ValueError(f"`condition` must be 1 or more, got {condition}")
    gaussian = torch.randn(*batch, n, n, generator=generator, dtype=dtype, device=device)
    vectors = torch.linalg.qr(gaussian).Q
    exponents = torch.rand(*batch, n, generator=generator, dtype=dtype, device=device) - 0.5
    if n > 1:
        low, high = exponents.amin(-1, keepdim=True), exponents.amax(-1, keepdim=True)
        exponents = (exponents - low) / (high - low) - 0.5
    values = torch.as_tensor(condition, dtype=dtype, device=device) ** exponents
    return symmetrize((vectors * values.unsqueeze(-2)) @ vectors.mT)
