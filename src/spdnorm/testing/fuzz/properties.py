"""What must hold of a result; each check returns what is wrong, or nothing."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


def finite(name: str, x: Tensor) -> Iterator[str]:
    """No NaN, no infinity."""
    bad = x.numel() - int(torch.isfinite(x).sum())
    if bad:
        yield f"{name}: {bad} of {x.numel()} entries are not finite"


def symmetric(name: str, x: Tensor, size: Tensor | None = None) -> Iterator[str]:
    """Symmetric to rounding in numbers as large as its own, or as ``size``."""
    if x.numel() and bool(torch.isfinite(x).all()):
        own = x.abs().amax((-2, -1))
        size = own if size is None else torch.maximum(own, size)
        skew = (x - x.mT).abs().amax((-2, -1))
        worst = (skew / size.clamp_min(torch.finfo(x.dtype).tiny)).max().item()
        # Looser than rounding, and what the library's own check lets pass.
        if worst > 64 * x.shape[-1] * torch.finfo(x.dtype).eps:
            yield f"{name}: asymmetry {worst:.1e}"


def semidefinite(name: str, x: Tensor, slack: float = 1.0) -> Iterator[str]:
    """No eigenvalue below zero by more than rounding, times ``slack``."""
    if x.numel() and bool(torch.isfinite(x).all()):
        values = torch.linalg.eigvalsh(x.double())
        floor = -64 * slack * x.shape[-1] * torch.finfo(x.dtype).eps * values.abs().amax(-1)
        if bool((values.amin(-1) < floor).any()):
            yield f"{name}: least eigenvalue {values.amin():.1e} at largest {values.abs().amax():.1e}"


def spd(name: str, x: Tensor, slack: float = 1.0) -> Iterator[str]:
    """All of the above."""
    yield from finite(name, x)
    yield from symmetric(name, x)
    yield from semidefinite(name, x, slack)


def near(name: str, found: Tensor, expected: Tensor, bound: float) -> Iterator[str]:
    """Within ``bound`` of the norm of what was expected, sample by sample."""
    if not (bool(torch.isfinite(found).all()) and bool(torch.isfinite(expected).all())):
        return
    error = relative_error(found, expected).max().item() if found.numel() else 0.0
    if error > bound:
        yield f"{name}: relative error {error:.1e}, allowed {bound:.1e}"


def relative_error(found: Tensor, expected: Tensor) -> Tensor:
    """Frobenius norm of the difference over that of ``expected``, for each matrix of (..., n, n)."""
    expected = expected.double()
    size = torch.linalg.matrix_norm(expected).clamp_min(1e-300)
    return torch.linalg.matrix_norm(found.double() - expected) / size
