"""Covariance matrices of signals, whole or in temporal segments."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import check_signals, eye_like, full_precision, symmetrize, trace

ESTIMATORS = ("sample", "shrinkage", "oas", "ledoit-wolf")
REGULARISATIONS = ("trace", "plain", "none")


def check_options(estimator: str, regularization: str, shrinkage: float, epsilon: float, segments: int | None) -> None:
    """Raise unless :func:`covariance` takes these."""
    if estimator not in ESTIMATORS:
        raise ValueError(f"`estimator` must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    if regularization not in REGULARISATIONS:
        raise ValueError(f"`regularization` must be one of {', '.join(REGULARISATIONS)}, got {regularization!r}")
    if not 0 <= shrinkage <= 1:
        raise ValueError(f"`shrinkage` must lie in [0, 1], got {shrinkage}")
    if not epsilon >= 0:
        raise ValueError(f"`epsilon` must be 0 or more, got {epsilon}")
    if segments is not None and segments < 1:
        raise ValueError(f"`segments` must be 1 or more, or None, got {segments}")


def _trace_scaled(c: Tensor) -> Tensor:
    return trace(c)[..., None, None] * eye_like(c)


def _shrink(c: Tensor, weight: Tensor | float) -> Tensor:
    """(1 - w) C + w tr(C)/n I."""
    return (1 - weight) * c + weight / c.shape[-1] * _trace_scaled(c)


def _oas_weight(c: Tensor, samples: int) -> Tensor:
    # Chen et al. 2010, Eq. (23), in the form that scikit-learn and pyRiemann use.
    n = c.shape[-1]
    mean_square = c.square().mean((-2, -1))
    mu_square = (trace(c) / n).square()
    denominator = (samples + 1) * (mean_square - mu_square / n)
    weight = (mean_square + mu_square) / denominator.clamp_min(torch.finfo(c.dtype).tiny)
    return weight.clamp_max(1)[..., None, None]


def _ledoit_wolf_weight(c: Tensor, centred: Tensor) -> Tensor:
    # Ledoit and Wolf 2004, Sec. 3.3: distance of the estimate from mu I against its sampling error.
    n, samples = centred.shape[-2:]
    squares = centred.square()
    fourth = (squares @ squares.mT).sum((-2, -1)) / samples
    delta_c = c.square().sum((-2, -1))
    mu = trace(c) / n
    spread = (delta_c - 2 * mu * trace(c) + n * mu.square()) / n
    error = torch.minimum((fourth - delta_c) / (n * samples), spread)
    weight = error / spread.clamp_min(torch.finfo(c.dtype).tiny)
    return weight[..., None, None]


def _one(x: Tensor, estimator: str, shrinkage: float, correction: int, center: bool) -> Tensor:
    samples = x.shape[-1]
    taken = correction if estimator in ("sample", "shrinkage") else 0
    if samples <= taken:
        raise ValueError(f"`x` must have more than {taken} samples a segment, got {samples}: use fewer segments")
    if center:
        x = x - x.mean(-1, keepdim=True)
    product = symmetrize(x @ x.mT)
    if estimator in ("sample", "shrinkage"):
        c = product / (samples - correction)
        return c if estimator == "sample" else _shrink(c, shrinkage)
    c = product / samples
    return _shrink(c, _oas_weight(c, samples) if estimator == "oas" else _ledoit_wolf_weight(c, x))


def segment_lengths(samples: int, segments: int) -> list[int]:
    """Lengths of ``segments`` consecutive parts of ``samples``, the longer ones first (MAtt's E2R)."""
    base, longer = divmod(samples, segments)
    return [base + 1] * longer + [base] * (segments - longer)


@full_precision
def covariance(
    x: Tensor,
    *,
    estimator: str = "sample",
    regularization: str = "trace",
    epsilon: float = 1e-5,
    shrinkage: float = 0.1,
    trace_normalize: bool = False,
    segments: int | None = None,
    center: bool = True,
    correction: int = 1,
) -> Tensor:
    """Regularised covariance matrices of signals.

    Parameters
    ----------
    x : Tensor, shape (..., n, T)
        n variables at T times.
    estimator : "sample", "shrinkage", "oas" or "ledoit-wolf"
        X X^T / (T - correction); the same drawn towards tr(C)/n I by the fixed weight ``shrinkage``; or by the
        weight of Chen et al. (2010) or of Ledoit and Wolf (2004), which divide by T.
    regularization : "trace", "plain" or "none"
        C + epsilon tr(C) I, C + epsilon I, or nothing.
    epsilon : float
        lambda of the paper.
    shrinkage : float
        Weight in [0, 1] of ``estimator="shrinkage"``.
    trace_normalize : bool
        Divide C by its trace before it is regularised, as MAtt does (Pan et al. 2022).
    segments : int, optional
        Cut time into so many consecutive parts, one matrix each (MAtt's E2R), which adds an axis.
    center : bool
        Subtract the mean over time (of each segment).
    correction : int
        Degrees of freedom taken off T.

    Returns
    -------
    Tensor, shape (..., n, n), or (..., segments, n, n)

    Examples
    --------
    >>> from spdnorm.functional import covariance
    >>> covariance(torch.randn(5, 8, 125)).shape
    torch.Size([5, 8, 8])
    """
    check_options(estimator, regularization, shrinkage, epsilon, segments)
    check_signals(x, "x")
    if segments is None:
        c = _one(x, estimator, shrinkage, correction, center)
    else:
        parts = x.split(segment_lengths(x.shape[-1], segments), dim=-1)
        c = torch.stack([_one(part, estimator, shrinkage, correction, center) for part in parts], dim=-3)
    if trace_normalize:
        c = c / trace(c)[..., None, None]
    if regularization == "trace":
        return c + epsilon * _trace_scaled(c)
    return c + epsilon * eye_like(c) if regularization == "plain" else c
