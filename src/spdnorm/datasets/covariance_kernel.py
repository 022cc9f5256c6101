"""The arithmetic of :mod:`~.covariances` on a batch of torch tensors; apart, so that torch loads when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

if TYPE_CHECKING:
    from .covariances import CovarianceOptions, Shrinkage

__all__ = ["covariance_batch", "float_dtype"]


def covariance_batch(
    x: torch.Tensor, ell: torch.Tensor, mask_lengths: torch.Tensor | None, options: CovarianceOptions
) -> torch.Tensor:
    """Covariances (N, n, n) of signals (N, n, T) whose lengths are ``ell``; masked only where lengths are given."""
    count = ell[:, None, None]
    if mask_lengths is not None:
        mask = torch.arange(x.shape[-1], device=x.device) < mask_lengths[:, None, None]
        x = torch.where(mask, x, 0)
        if options.center:
            x = torch.where(mask, x - x.sum(-1, keepdim=True) / count, 0)
    elif options.center:
        x = x - x.mean(-1, keepdim=True)
    ddof = 0 if isinstance(options.shrinkage, str) else options.ddof
    s = x @ x.mT / (count - ddof)
    s = (s + s.mT) / 2
    n = s.shape[-1]
    eye = torch.eye(n, dtype=s.dtype, device=s.device)
    trace = s.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
    if options.shrinkage is not None:
        weight = _shrinkage_weight(options.shrinkage, x, s, trace, count)
        s = (1 - weight) * s + weight * trace / n * eye
    if options.normalize == "trace":
        if (trace <= 0).any():
            bad = int(torch.nonzero(trace.flatten() <= 0)[0])
            raise ValueError(f"normalize='trace': sample {bad} of x is constant, so its covariance has trace 0")
        s = s / trace
    return s + options.regularization * eye if options.regularization else s


def _shrinkage_weight(
    shrinkage: Shrinkage, x: torch.Tensor, s: torch.Tensor, trace: torch.Tensor, count: torch.Tensor
) -> torch.Tensor | float:
    if not isinstance(shrinkage, str):
        return float(shrinkage)
    n = s.shape[-1]
    square = (s * s).sum((-2, -1), keepdim=True)
    mu2 = trace * trace / n
    if shrinkage == "oas":
        # Eq. 23 of Chen et al. in the form that drops its 1 - 2/n terms, as scikit-learn's OAS does.
        a = square / n**2
        m = (trace / n) ** 2
        denominator = (count + 1) * (a - m / n)
        return torch.where(denominator > 0, (a + m) / denominator, 1).clamp(max=1)
    # Mean squared distance of the one-sample estimates x_t x_t' from S, over T: the error of S itself.
    energy = (x * x).sum(-2, keepdim=True)
    error = ((energy * energy).sum(-1, keepdim=True) / count - square) / count
    spread = square - mu2
    return torch.where(spread > 0, torch.minimum(error, spread) / spread, 0).clamp(min=0)


def float_dtype(dtype: Any) -> torch.dtype:
    """Return float32 or float64, whichever holds a numpy or torch dtype (or its name) without rounding."""
    if isinstance(dtype, torch.dtype):
        dtype = str(dtype).removeprefix("torch.").replace("bfloat16", "float16")
    return torch.float32 if np.result_type(np.dtype(dtype), np.float32) == np.float32 else torch.float64
