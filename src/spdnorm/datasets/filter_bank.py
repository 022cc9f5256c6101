"""Signals split into frequency bands, band by band beside one another as more channels.

The covariance of such a signal, bands x channels in size, is what Riemannian classifiers of SSVEP take: Congedo,
Barachant and Andreev, "A new generation of brain-computer interface based on Riemannian geometry" (2013); Kalunga et
al., "Online SSVEP-based BCI using Riemannian geometry", Neurocomputing 191 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .extras import require

__all__ = ["filter_bank"]

#: Of the Butterworth filter, which is run forwards and backwards.
ORDER = 4


def filter_bank(x: np.ndarray, bands: Sequence[tuple[float, float]], *, sampling_rate: float) -> np.ndarray:
    """Band-pass signals without a shift in time, once for each band.

    Parameters
    ----------
    x : ndarray, shape (N, channels, times)
        Signals of equal length.
    bands : sequence of (low, high)
        In hertz, above 0 and below half the sampling rate.
    sampling_rate : float
        In hertz.

    Returns
    -------
    ndarray, shape (N, bands * channels, times)
        All channels in the first band, then in the second; in the precision of ``x``.

    Examples
    --------
    >>> import numpy as np
    >>> from spdnorm.datasets import filter_bank
    >>> time = np.arange(512) / 256
    >>> tone = np.sin(2 * np.pi * 13 * time)[None, None]
    >>> filter_bank(tone, [(12, 14), (20, 22)], sampling_rate=256).std(-1) > 0.1
    array([[ True, False]])
    """
    signal = require("scipy.signal", extra="data", purpose="a filter bank")
    if not len(bands):
        raise ValueError("bands is empty: give one (low, high) or more, in hertz")
    parts = []
    for band in bands:
        low, high = band
        if not 0 < low < high < sampling_rate / 2:
            raise ValueError(
                f"band {tuple(band)} must lie above 0 and below half the sampling rate, {sampling_rate / 2:g} Hz"
            )
        sections = signal.butter(ORDER, (low, high), "bandpass", fs=sampling_rate, output="sos")
        parts.append(signal.sosfiltfilt(sections, x.astype(np.float64), axis=-1))
    return np.concatenate(parts, axis=1).astype(x.dtype)
