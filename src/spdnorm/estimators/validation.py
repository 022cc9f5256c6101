"""Input of the estimators: matrices or signals, and plain tables read as one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.utils.validation import validate_data
from torch import Tensor

from spdnorm.linalg import check_symmetric, checks_active

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def torch_dtype(name: str) -> torch.dtype:
    """The torch dtype of this name."""
    if name not in DTYPES:
        raise ValueError(f"`dtype` must be one of {', '.join(DTYPES)}, got {name!r}")
    return DTYPES[name]


def validated(estimator: Any, x: Any, y: Any = "no_validation", *, reset: bool) -> Any:
    """scikit-learn's checks (finite, real, dense, 2 or more axes, as many features as in fit) for any axes."""
    options: dict[str, Any] = {"allow_nd": True, "dtype": [np.float64, np.float32], "reset": reset}
    if isinstance(y, str) and y == "no_validation":
        return validate_data(estimator, x, **options)
    return validate_data(estimator, x, y, **options)


def embed_vectors(x: np.ndarray) -> np.ndarray:
    """Vectors (N, d) -> SPD matrices (N, d + 1, d + 1): the unit Gaussian about each (Calvo and Oller 1990).

    ``[[I + v v^T, v], [v^T, 1]]``, with v scaled by 1 / sqrt(d) so that the conditioning does not grow with d.
    """
    v = x / np.sqrt(x.shape[1])
    extended = np.concatenate([v, np.ones((len(v), 1), dtype=v.dtype)], axis=1)
    matrices = extended[:, :, None] * extended[:, None, :]
    diagonal = np.arange(x.shape[1])
    matrices[:, diagonal, diagonal] += 1
    return matrices


def check_semi_definite(x: np.ndarray) -> None:
    """Raise unless matrices (..., n, n) are symmetric and positive semi-definite, up to rounding in float32."""
    matrices = torch.as_tensor(x)
    check_symmetric(matrices, "X")
    if checks_active(matrices):
        slack = 1e-6 * matrices.abs().amax((-2, -1)) + torch.finfo(matrices.dtype).tiny
        shifted = matrices.clone()
        shifted.diagonal(dim1=-2, dim2=-1).add_(slack.unsqueeze(-1))
        wrong = torch.linalg.cholesky_ex(shifted).info != 0
        if wrong.any():
            raise ValueError(
                f"`X` must hold positive semi-definite matrices, {int(wrong.sum())} of {wrong.numel()} have a negative "
                "eigenvalue: for signals use EEGSPDNetClassifier, or pyriemann's Covariances before"
            )


def to_matrices(x: np.ndarray) -> np.ndarray:
    """SPD matrices (N, n, n) or (N, channels, n, n) as they are, a table (N, d) by :func:`embed_vectors`."""
    if x.ndim == 2:
        return embed_vectors(x)
    if x.ndim > 4 or x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"`X` must hold SPD matrices (N, n, n) or (N, channels, n, n), or a table (N, d), got shape {x.shape}: for "
            "signals use EEGSPDNetClassifier, or pyriemann's Covariances before"
        )
    check_semi_definite(x)
    return x


def to_signals(x: np.ndarray) -> np.ndarray:
    """Signals (N, channels, times) as they are, a table (N, times) as signals of one channel."""
    if x.ndim == 2:
        x = x[:, None, :]
    if x.ndim != 3:
        raise ValueError(f"`X` must hold signals (N, channels, times), got shape {x.shape}")
    if x.shape[2] < 2:
        raise ValueError(
            f"`X` must have 2 or more times for a covariance: 1 time (n_features = {x.shape[1]}) was given"
        )
    return x


def as_tensor(x: np.ndarray, dtype: torch.dtype, device: torch.device | str) -> Tensor:
    """A NumPy array as a tensor."""
    return torch.as_tensor(np.ascontiguousarray(x), dtype=dtype, device=device)
