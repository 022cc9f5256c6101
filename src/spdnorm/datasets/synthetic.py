"""Generators: SPD classes with a chosen condition number, for tests and for scale."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .registry import DatasetInfo, register
from .types import MatrixDataset

if TYPE_CHECKING:
    from spdnorm.geometry import Metric

__all__ = ["SPD_METRICS", "load_spd_simulated", "make_spd_classes"]

#: Metrics whose exponential map is written here; any other goes through :mod:`spdnorm.geometry`.
SPD_METRICS = ("aim", "lem", "lcm", "bwm")

_SYNTHETIC = "none needed (generated)"


def make_spd_classes(
    *,
    n_samples: int = 1000,
    n_features: int = 8,
    n_classes: int = 4,
    metric: str | Metric = "aim",
    condition_number: float = 100.0,
    separation: float = 1.0,
    spread: float = 0.3,
    seed: int = 0,
    dtype: str | np.dtype = "float64",
    out: np.ndarray | None = None,
    chunk_size: int = 2048,
) -> MatrixDataset:
    """Draw SPD matrices around one centre for each class, spread by a metric's exponential map.

    Class centres are ``U diag(d) U'`` with log-spaced ``d`` from ``1/sqrt(k)`` to ``sqrt(k)`` (so every centre has
    exactly the condition number k) and ``U`` a rotation away from a common frame, by ``separation``. A sample is
    ``Exp_C(V)``, V Gaussian with standard deviation ``spread`` in an orthonormal frame of the tangent space (for
    ``bwm``, ``Exp_C(V) = (I + L) C (I + L)`` with L Gaussian, which is positive definite for almost every L).

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        How many, how large; labels take turns.
    metric : "aim", "lem", "lcm", "bwm", or an object of :mod:`spdnorm.geometry`
        Affine-invariant, Log-Euclidean, Log-Cholesky, Bures-Wasserstein, or any metric there is (``gbwm`` with its
        matrix, a power deformation, one's own): V is then given the length that it has in the Frobenius norm.
    condition_number : float
        Of each class centre, at least 1.
    separation, spread : float
        Distance of the centres from the common frame (radians of rotation), and of samples from their centre.
    seed : int
        The same seed gives the same matrices.
    dtype : floating dtype
        Of the result; the work is done in float64.
    out : ndarray (n_samples, n_features, n_features), optional
        Where to write (a memory map, say), so that 56,880 x 75 x 75 need not fit in memory twice.
    chunk_size : int
        Matrices at a time.

    Returns
    -------
    MatrixDataset
        Metadata ``split``: the first half of every class is train, the rest test.

    Examples
    --------
    >>> from spdnorm.datasets import make_spd_classes
    >>> data = make_spd_classes(n_samples=100, n_features=6, n_classes=3, condition_number=1e4, metric="bwm")
    >>> data.x.shape, data.y[:4]
    ((100, 6, 6), array([0, 1, 2, 0]))
    """
    if isinstance(metric, str) and metric not in SPD_METRICS:
        raise ValueError(f"metric={metric!r}: choose from {', '.join(SPD_METRICS)}, or give a metric object")
    if condition_number < 1:
        raise ValueError(f"condition_number={condition_number}: give a number >= 1")
    if min(n_samples, n_features, n_classes) < 1:
        raise ValueError("n_samples, n_features and n_classes must be at least 1")
    rng = np.random.default_rng(seed)
    shape = (n_samples, n_features, n_features)
    x = np.empty(shape, dtype=dtype) if out is None else out
    if x.shape != shape:
        raise ValueError(f"out has shape {x.shape}, expected {shape}")
    centres = _centres(rng, n_classes, n_features, condition_number, separation)
    y = np.arange(n_samples, dtype=np.int64) % n_classes
    for start in range(0, n_samples, chunk_size):
        part = slice(start, min(start + chunk_size, n_samples))
        tangent = _symmetric_gaussian(rng, part.stop - start, n_features) * spread
        if isinstance(metric, str):
            x[part] = _EXPONENTIAL[metric](centres, y[part], tangent)
        else:
            x[part] = _exp_of(metric, centres[y[part]], tangent)
    split = np.where(np.arange(n_samples) // n_classes < (n_samples // n_classes + 1) // 2, "train", "test")
    return MatrixDataset(
        name="spd-simulated",
        x=x,
        y=y,
        class_names=tuple(f"class {k}" for k in range(n_classes)),
        metadata={"split": split},
        licence=_SYNTHETIC,
        citation="",
    )


def _centres(
    rng: np.random.Generator, n_classes: int, n: int, condition_number: float, separation: float
) -> np.ndarray:
    half = 0.5 * np.log(condition_number)
    d = np.exp(np.linspace(-half, half, n)) if n > 1 else np.ones(1)
    frame = np.linalg.qr(rng.standard_normal((n, n)))[0]
    a = rng.standard_normal((n_classes, n, n))
    skew = (a - np.swapaxes(a, -1, -2)) * (separation / np.sqrt(2 * n))
    # Cayley's map takes a skew matrix to a rotation by about the same angle.
    eye = np.eye(n)
    u = np.linalg.solve(eye - skew / 2, eye + skew / 2) @ frame
    return symmetrize((u * d) @ np.swapaxes(u, -1, -2))


def _symmetric_gaussian(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    a = rng.standard_normal((count, n, n))
    return (a + np.swapaxes(a, -1, -2)) / 2


def symmetrize(x: np.ndarray) -> np.ndarray:
    """Return ``(X + X') / 2``."""
    return (x + np.swapaxes(x, -1, -2)) / 2


def _spectral(x: np.ndarray, function: np.ufunc) -> np.ndarray:
    values, vectors = np.linalg.eigh(x)
    return symmetrize((vectors * function(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _exp_aim(centres: np.ndarray, y: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    root = _spectral(centres, np.sqrt)[y]
    return symmetrize(root @ _spectral(tangent, np.exp) @ root)


def _exp_lem(centres: np.ndarray, y: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    return _spectral(_spectral(centres, np.log)[y] + tangent, np.exp)


def _exp_lcm(centres: np.ndarray, y: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    cholesky = np.linalg.cholesky(centres)[y]
    diagonal = np.einsum("...ii->...i", tangent)
    lower = np.tril(cholesky, -1) + np.tril(tangent, -1)
    log_diagonal = np.log(np.einsum("...ii->...i", cholesky)) + diagonal
    factor = lower + np.eye(tangent.shape[-1]) * np.exp(log_diagonal)[..., None, :]
    return symmetrize(factor @ np.swapaxes(factor, -1, -2))


def _exp_bwm(centres: np.ndarray, y: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    map_ = np.eye(tangent.shape[-1]) + tangent
    return symmetrize(map_ @ centres[y] @ map_)


def _exp_of(metric: Metric, centres: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    import torch

    point, direction = torch.from_numpy(centres), torch.from_numpy(tangent)
    length = torch.linalg.matrix_norm(direction)
    size = metric.norm(point, direction)
    factor = torch.where(size > 0, length / size, 0)[:, None, None]
    return symmetrize(metric.exp(point, factor * direction).numpy())


_EXPONENTIAL = {"aim": _exp_aim, "lem": _exp_lem, "lcm": _exp_lcm, "bwm": _exp_bwm}


def load_spd_simulated(root: Path | None = None, **options: object) -> MatrixDataset:
    """Generate SPD classes; ``options`` as of :func:`make_spd_classes`."""
    return make_spd_classes(**options)  # type: ignore[arg-type]


register(
    DatasetInfo(
        name="spd-simulated",
        title="Simulated SPD classes",
        kind="matrices",
        loader=load_spd_simulated,
        description="SPD classes on any of the metrics aim, lem, lcm, bwm with a chosen condition number",
        licence=_SYNTHETIC,
        citation="",
    )
)
