"""SPD matrices that are hard on purpose: chosen condition number, ties, near-ties, the boundary."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from spdnorm.linalg import symmetrize

Kind = Literal["generic", "ties", "near_ties", "identity", "diagonal", "boundary"]

#: Every kind that :func:`spd_matrices` can draw.
KINDS: tuple[Kind, ...] = ("generic", "ties", "near_ties", "identity", "diagonal", "boundary")


def eigenvalues(n: int, *, condition: float, kind: Kind, gap: float, rank: int | None) -> Tensor:
    """Ascending float64 eigenvalues (n,) of this kind, geometric from ``condition ** -0.5`` to ``condition ** 0.5``."""
    values = torch.logspace(-0.5, 0.5, n, base=condition, dtype=torch.float64) if n > 1 else torch.ones(1).double()
    if kind == "identity":
        return torch.ones(n, dtype=torch.float64)
    if kind in ("ties", "near_ties"):
        # Pairs share the lower value of the two; near-ties are then moved apart by the relative gap.
        values = values[torch.arange(n) // 2 * 2]
        if kind == "near_ties":
            values = values * (1 + gap * (torch.arange(n) % 2))
    if kind == "boundary":
        keep = n - 1 if rank is None else rank
        values = torch.where(torch.arange(n) < n - keep, torch.zeros_like(values), values)
    return values


def spd_matrices(
    n: int,
    *batch: int,
    kind: Kind = "generic",
    condition: float = 10.0,
    gap: float = 1e-9,
    rank: int | None = None,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw SPD matrices, reproducibly, with the spectrum of a chosen kind and random eigenvectors.

    Parameters
    ----------
    n, *batch : int
        Size and leading dimensions.
    kind : str
        ``generic`` (distinct eigenvalues), ``ties`` (equal pairs), ``near_ties`` (pairs ``gap`` apart, relative),
        ``identity``, ``diagonal`` (no rotation: exact zeros off the diagonal), ``boundary`` (``rank`` < n, exact zeros
        in the spectrum).
    condition : float
        Ratio of the largest and the least non-zero eigenvalue.
    gap : float
        Relative gap of the near-ties.
    rank : int, optional
        Rank on the boundary; n - 1 by default.
    seed : int
        Seeds its own generator; the global one is left alone.
    dtype, device
        The spectrum is made in float64 on the CPU and rounded once.

    Returns
    -------
    Tensor, shape (*batch, n, n)

    Examples
    --------
    >>> from spdnorm.testing import spd_matrices
    >>> x = spd_matrices(4, 10, kind="ties", condition=100.0)
    >>> x.shape
    torch.Size([10, 4, 4])
    """
    if kind not in KINDS:
        raise ValueError(f"`kind` must be one of {', '.join(KINDS)}, got {kind!r}")
    if condition < 1:
        raise ValueError(f"`condition` must be 1 or more, got {condition}")
    values = eigenvalues(n, condition=condition, kind=kind, gap=gap, rank=rank)
    generator = torch.Generator().manual_seed(seed)
    if kind in ("diagonal", "identity"):
        # Another scale for each matrix of a batch, so that they differ; the identity is the identity.
        scale = 1 + torch.rand(*batch, 1, generator=generator, dtype=torch.float64) * (kind == "diagonal")
        result = torch.diag_embed(values * scale)
    else:
        vectors = torch.linalg.qr(torch.randn(*batch, n, n, generator=generator, dtype=torch.float64)).Q
        result = symmetrize((vectors * values) @ vectors.mT)
    return result.to(dtype=dtype, device=device)


def tangents(n: int, *batch: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Symmetric matrices (*batch, n, n) of unit Frobenius norm, reproducibly.

    Examples
    --------
    >>> from spdnorm.testing import tangents
    >>> round(torch.linalg.matrix_norm(tangents(3)).item(), 6)
    1.0
    """
    generator = torch.Generator().manual_seed(seed)
    u = symmetrize(torch.randn(*batch, n, n, generator=generator, dtype=torch.float64))
    return (u / torch.linalg.matrix_norm(u, keepdim=True)).to(dtype)


__all__ = ["KINDS", "Kind", "spd_matrices", "tangents"]
