"""From any signals to SPD matrices, a whole batch at a time.

Shrinkage formulas: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
J. Multivariate Analysis 88 (2004); Chen, Wiesel, Eldar and Hero, "Shrinkage algorithms for MMSE covariance
estimation", IEEE Trans. Signal Processing 58 (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import torch

__all__ = ["CovarianceOptions", "covariance"]

Shrinkage = float | Literal["ledoit-wolf", "oas"]


@dataclass(frozen=True, kw_only=True)
class CovarianceOptions:
    """How a signal becomes a matrix.

    Parameters
    ----------
    center : bool
        Subtract each channel's mean over time.
    shrinkage : float in [0, 1], "ledoit-wolf", "oas" or None
        Weight of ``tr(S)/n I`` in ``(1 - a) S + a tr(S)/n I``.
    normalize : "trace" or None
        Divide each matrix by its trace (before the regularisation).
    regularization : float
        The paper's lambda: ``X + lambda I``, added last.
    ddof : int
        Delta degrees of freedom of the divisor ``T - ddof`` (1 unbiased, 0 maximum likelihood).
        Automatic shrinkage is defined on the maximum-likelihood estimate and takes ``ddof=0``.
    chunk_size : int or None
        Samples at a time, to bound memory; None does all at once.
    """

    center: bool = True
    shrinkage: Shrinkage | None = None
    normalize: Literal["trace"] | None = None
    regularization: float = 0.0
    ddof: int = 1
    chunk_size: int | None = 1024

    def __post_init__(self) -> None:
        if isinstance(self.shrinkage, str):
            if self.shrinkage not in ("ledoit-wolf", "oas"):
                raise ValueError(f"shrinkage={self.shrinkage!r}: give a number, 'ledoit-wolf' or 'oas'")
        elif self.shrinkage is not None and not 0.0 <= self.shrinkage <= 1.0:
            raise ValueError(f"shrinkage={self.shrinkage} is outside [0, 1]")
        if self.normalize not in (None, "trace"):
            raise ValueError(f"normalize={self.normalize!r}: give 'trace' or None")
        if self.regularization < 0 or not np.isfinite(self.regularization):
            raise ValueError(f"regularization={self.regularization}: give a finite number >= 0")
        if self.chunk_size is not None and self.chunk_size < 1:
            raise ValueError(f"chunk_size={self.chunk_size}: give a positive number or None")


@overload
def covariance(x: np.ndarray, *, lengths: Any = None, dtype: Any = None, **options: Any) -> np.ndarray: ...


@overload
def covariance(
    x: torch.Tensor, *, lengths: Any = None, dtype: Any = None, **options: Any
) -> torch.Tensor: ...


def covariance(
    x: np.ndarray | torch.Tensor, *, lengths: Any = None, dtype: Any = None, **options: Any
) -> np.ndarray | torch.Tensor:
    """Covariance matrices of a batch of signals.

    Parameters
    ----------
    x : ndarray or tensor, shape (N, channels, times)
        Signals, padded at the end where lengths differ.
    lengths : integers, shape (N,), optional
        True lengths; what lies beyond is ignored.
    dtype : numpy or torch floating dtype, or its name, optional
        Precision of the sums and of the result; defaults to the precision of ``x``.
    **options
        Fields of :class:`CovarianceOptions`.

    Returns
    -------
    ndarray or tensor as ``x``, shape (N, channels, channels)
        Exactly symmetric.
    """
    chosen = CovarianceOptions(**options)
    work = _float_dtype(x.dtype if dtype is None else dtype)
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected (samples, channels, times)")
    count, channels, times = x.shape
    ell = torch.full((count,), times) if lengths is None else torch.as_tensor(np.array(lengths))
    _check_lengths(ell, count=count, times=times, options=chosen)
    device = x.device if isinstance(x, torch.Tensor) else None
    ell = ell.to(device=device, dtype=torch.int64)
    result = torch.empty((count, channels, channels), dtype=work, device=device)
    step = chosen.chunk_size or max(count, 1)
    for start in range(0, count, step):
        part = slice(start, start + step)
        # Only a chunk is copied and converted at a time: x may be a memory map larger than memory.
        signals = x[part] if isinstance(x, torch.Tensor) else torch.from_numpy(_native_copy(x[part]))
        masked = None if lengths is None else ell[part]
        result[part] = _covariance_batch(signals.to(work), ell[part].to(work), masked, chosen)
    return result if isinstance(x, torch.Tensor) else result.numpy()


def _covariance_batch(
    x: torch.Tensor, ell: torch.Tensor, mask_lengths: torch.Tensor | None, options: CovarianceOptions
) -> torch.Tensor:
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
            raise ValueError(
                f"normalize='trace': sample {bad} of x is constant, so its covariance has trace 0"
            )
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


def _check_lengths(ell: torch.Tensor, *, count: int, times: int, options: CovarianceOptions) -> None:
    if ell.shape != (count,):
        raise ValueError(f"lengths has shape {tuple(ell.shape)}, expected ({count},)")
    least = (0 if isinstance(options.shrinkage, str) else options.ddof) + 1
    if count and (int(ell.min()) < least or int(ell.max()) > times):
        raise ValueError(
            f"lengths run from {int(ell.min())} to {int(ell.max())}; a covariance with ddof={options.ddof} "
            f"needs {least} to {times} time samples"
        )


def _float_dtype(dtype: Any) -> torch.dtype:
    if not isinstance(dtype, torch.dtype):
        name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
        found = getattr(torch, name, None)
        dtype = found if isinstance(found, torch.dtype) else torch.float32
    return dtype if dtype in (torch.float32, torch.float64) else torch.float32


def _native_copy(x: np.ndarray) -> np.ndarray:
    return np.array(x, dtype=x.dtype.newbyteorder("="))
