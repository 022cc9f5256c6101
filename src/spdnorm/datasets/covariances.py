"""From any signals to SPD matrices, a whole batch at a time.

Shrinkage formulas: Ledoit and Wolf, "A well-conditioned estimator for large-dimensional covariance matrices",
J. Multivariate Analysis 88 (2004); Chen, Wiesel, Eldar and Hero, "Shrinkage algorithms for MMSE covariance
estimation", IEEE Trans. Signal Processing 58 (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

if TYPE_CHECKING:
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
def covariance(x: torch.Tensor, *, lengths: Any = None, dtype: Any = None, **options: Any) -> torch.Tensor: ...


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
        Precision of the sums and of the result; defaults to the precision of ``x`` (to float64 for integers of 32 bits
        and more, which float32 would round).
    **options
        Fields of :class:`CovarianceOptions`.

    Returns
    -------
    ndarray or tensor as ``x``, shape (N, channels, channels)
        Exactly symmetric.

    Examples
    --------
    >>> from spdnorm.datasets import covariance
    >>> covariance(np.random.default_rng(0).normal(size=(5, 8, 125))).shape
    (5, 8, 8)
    """
    import torch

    from .covariance_kernel import covariance_batch, float_dtype

    chosen = CovarianceOptions(**options)
    work = float_dtype(x.dtype if dtype is None else dtype)
    if "complex" in str(x.dtype):
        raise ValueError(f"x is {x.dtype}: give real signals")
    if x.ndim != 3:
        raise ValueError(f"x has shape {tuple(x.shape)}, expected (samples, channels, times)")
    count, channels, times = x.shape
    if lengths is None:
        ell = torch.full((count,), times)
    else:
        ell = lengths if isinstance(lengths, torch.Tensor) else torch.from_numpy(np.array(lengths))
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
        with torch.autocast(result.device.type, enabled=False):  # sums keep their precision
            result[part] = covariance_batch(signals.to(work), ell[part].to(work), masked, chosen)
    # n x n numbers a signal tell of all its samples: one that is not finite makes its row and column so.
    bad = (~torch.isfinite(result.detach()).all(-1).all(-1)).nonzero().flatten()
    if len(bad):
        raise ValueError(
            f"{len(bad)} of {count} covariances are not finite, the first that of sample {int(bad[0])}: x holds "
            f"non-finite values there, or values whose squares overflow {str(work).removeprefix('torch.')}"
        )
    return result if isinstance(x, torch.Tensor) else result.numpy()


def _check_lengths(ell: torch.Tensor, *, count: int, times: int, options: CovarianceOptions) -> None:
    if ell.shape != (count,):
        raise ValueError(f"lengths has shape {tuple(ell.shape)}, expected ({count},)")
    least = (0 if isinstance(options.shrinkage, str) else options.ddof) + 1
    if count and (int(ell.min()) < least or int(ell.max()) > times):
        raise ValueError(
            f"lengths run from {int(ell.min())} to {int(ell.max())}; a covariance with ddof={options.ddof} "
            f"needs {least} to {times} time samples"
        )


def _native_copy(x: np.ndarray) -> np.ndarray:
    return np.array(x, dtype=x.dtype.newbyteorder("="))
