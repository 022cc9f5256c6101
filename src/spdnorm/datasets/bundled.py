"""Real data that come inside a pip package, so that a first command needs no download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .extras import require
from .registry import DatasetInfo, register
from .types import SignalDataset

__all__ = ["load_basic_motions", "load_japanese_vowels"]

_SPLITS = ("train", "test")


def load_japanese_vowels(root: Path | None = None, *, dtype: str | np.dtype = "float64") -> SignalDataset:
    """Load JapaneseVowels: 640 utterances of two vowels by 9 men, 12 cepstrum coefficients, 7 to 29 frames.

    Parameters
    ----------
    root : Path, optional
        Not used: the data come with aeon.
    dtype : floating dtype
        Precision of ``x``.

    Returns
    -------
    SignalDataset
        ``x`` (640, 12, 29) padded with zeros, ``lengths``; metadata ``split`` (270 train, 370 test).
    """
    return _from_aeon(JAPANESE_VOWELS, "load_japanese_vowels", dtype, prefix="speaker ")


def load_basic_motions(root: Path | None = None, *, dtype: str | np.dtype = "float64") -> SignalDataset:
    """Load BasicMotions: 80 smartwatch recordings, accelerometer and gyroscope, 10 s at 10 Hz, 4 activities.

    Parameters and return value as of :func:`load_japanese_vowels`; ``x`` (80, 6, 100), 40 train, 40 test.
    """
    channels = tuple(f"{sensor}.{axis}" for sensor in ("accelerometer", "gyroscope") for axis in "xyz")
    return _from_aeon(BASIC_MOTIONS, "load_basic_motions", dtype, rate=10.0, channels=channels)


def _from_aeon(
    entry: DatasetInfo,
    function: str,
    dtype: str | np.dtype,
    *,
    prefix: str = "",
    rate: float = float("nan"),
    channels: tuple[str, ...] = (),
) -> SignalDataset:
    aeon = require("aeon.datasets", extra="data", purpose=f"the bundled data set {entry.name}")
    signals: list[np.ndarray] = []
    labels: list[str] = []
    split: list[str] = []
    for part in _SPLITS:
        x, y = getattr(aeon, function)(split=part)
        signals.extend(x)
        labels.extend(str(label) for label in y)
        split.extend([part] * len(x))
    names, y = np.unique(labels, return_inverse=True)
    x, lengths = pad(signals, dtype=dtype)
    return SignalDataset(
        name=entry.name,
        x=x,
        y=y.astype(np.int64),
        class_names=tuple(prefix + str(name) for name in names),
        metadata={"split": np.array(split)},
        licence=entry.licence,
        citation=entry.citation,
        sampling_rate=rate,
        channel_names=channels,
        lengths=None if (lengths == x.shape[-1]).all() else lengths,
    )


def pad(signals: list[np.ndarray], *, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """Stack signals (channels, times) of unequal length into (N, channels, longest), zeros after each one's
    end.

    Returns the array and the true lengths.
    """
    lengths = np.array([signal.shape[-1] for signal in signals], dtype=np.int64)
    x = np.zeros((len(signals), signals[0].shape[0], int(lengths.max())), dtype=dtype)
    for row, signal in zip(x, signals, strict=True):
        row[:, : signal.shape[-1]] = signal
    return x, lengths


JAPANESE_VOWELS = register(
    DatasetInfo(
        name="japanese-vowels",
        title="JapaneseVowels",
        kind="signals",
        loader=load_japanese_vowels,
        description="640 utterances by 9 speakers, 12 cepstrum coefficients; comes with aeon: no download",
        licence="CC BY 4.0 (UCI Machine Learning Repository); comes inside aeon (BSD-3-Clause)",
        citation="Kudo, Toyama, Shimbo, Multidimensional curve classification using passing-through regions, "
        "Pattern Recognition Letters 20 (1999) 1103-1111",
        homepage="https://archive.ics.uci.edu/dataset/128/japanese+vowels",
    )
)

BASIC_MOTIONS = register(
    DatasetInfo(
        name="basic-motions",
        title="BasicMotions",
        kind="signals",
        loader=load_basic_motions,
        description="80 smartwatch recordings of 4 activities, 6 channels; comes with aeon: no download",
        licence="UEA archive, no licence stated; comes inside aeon (BSD-3-Clause)",
        citation="Bagnall et al., The UEA multivariate time series classification archive, arXiv:1811.00075",
        homepage="https://www.timeseriesclassification.com/description.php?Dataset=BasicMotions",
    )
)
