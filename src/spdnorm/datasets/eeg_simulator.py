"""An SSVEP-like EEG simulator: sources, mixing, 1/f noise, subjects and sessions that drift."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .registry import DatasetInfo, register
from .types import SignalDataset

__all__ = ["load_ssvep_simulated", "make_ssvep"]

_LICENCE = "none needed (generated)"


def make_ssvep(
    *,
    n_subjects: int = 4,
    n_sessions: int = 3,
    trials_per_class: int = 8,
    frequencies: Sequence[float] = (6.66, 7.5, 8.57, 10.0, 12.0),
    n_channels: int = 8,
    sampling_rate: float = 125.0,
    duration: float = 1.0,
    snr_db: float = -3.0,
    n_noise_sources: int = 12,
    subject_drift: float = 0.3,
    session_drift: float = 0.1,
    seed: int = 0,
    dtype: str | np.dtype = "float64",
) -> SignalDataset:
    """Simulate steady-state visual evoked potentials.

    Each trial is ``A s + B n + sensor noise``. ``s`` are two visual sources that follow the stimulus and its second
    harmonic with a random phase; ``n`` are background sources of power 1/f; the mixing ``[A B]`` is common to all,
    and each subject and each session multiplies it by its own random matrix near the identity (the drift), and by its
    own gain.

    Parameters
    ----------
    n_subjects, n_sessions, trials_per_class : int
        Trials number ``n_subjects * n_sessions * trials_per_class * len(frequencies)``.
    frequencies : sequence of float
        One class each, in hertz.
    n_channels : int
        Channels.
    sampling_rate, duration : float
        Hertz and seconds.
    snr_db : float
        Power of the visual sources against the background, over all channels, in decibels.
    n_noise_sources : int
        Background sources; with ``n_channels`` or more of them covariances have full rank.
    subject_drift, session_drift : float
        Size of the random part of the drift matrices; 0 makes all subjects (sessions) alike.
    seed : int
        The same seed gives the same signals.
    dtype : floating dtype
        Of ``x``.

    Returns
    -------
    SignalDataset
        Metadata ``subject``, ``session`` (both from 1), ``split`` (the last session is test) and
        ``recording``.

    Examples
    --------
    >>> from spdnorm.datasets import make_ssvep
    >>> make_ssvep(n_subjects=1, n_sessions=2, trials_per_class=1).x.shape
    (10, 8, 125)
    """
    if min(n_subjects, n_sessions, trials_per_class, n_channels, n_noise_sources, len(frequencies)) < 1:
        raise ValueError("every count must be at least 1")
    times = round(sampling_rate * duration)
    if times < 2 or 4 * max(frequencies) >= sampling_rate:
        raise ValueError(
            f"sampling_rate={sampling_rate}, duration={duration}: at least 2 time samples, and twice the "
            f"highest frequency ({max(frequencies)} Hz) below half the sampling rate, are needed"
        )
    rng = np.random.default_rng(seed)
    subject, session, y = (
        a.ravel()
        for a in np.meshgrid(
            np.arange(n_subjects),
            np.arange(n_sessions),
            np.tile(np.arange(len(frequencies)), trials_per_class),
            indexing="ij",
        )
    )
    visual, background = _sources(rng, np.asarray(frequencies)[y], n_noise_sources, sampling_rate, times)
    mixing = _mixing(rng, n_channels, 2), _mixing(rng, n_channels, n_noise_sources)
    drift = _drift(rng, n_subjects, n_sessions, n_channels, subject_drift, session_drift)[subject, session]
    gain = 10 ** (snr_db / 20)
    x = drift @ (gain * (mixing[0] @ visual) + mixing[1] @ background)
    x += 0.05 * rng.standard_normal(x.shape)
    return SignalDataset(
        name="ssvep-simulated",
        x=x.astype(dtype, copy=False),
        y=y.astype(np.int64),
        class_names=tuple(f"{frequency:g} Hz" for frequency in frequencies),
        metadata={
            "subject": subject + 1,
            "session": session + 1,
            "split": np.where((session == n_sessions - 1) & (n_sessions > 1), "test", "train"),
            "recording": np.char.add(np.char.add((subject + 1).astype(str), "/"), (session + 1).astype(str)),
        },
        licence=_LICENCE,
        sampling_rate=sampling_rate,
        channel_names=tuple(f"S{k}" for k in range(n_channels)),
    )


def _sources(
    rng: np.random.Generator, frequency: np.ndarray, n_noise: int, rate: float, times: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return unit-power visual (N, 2, T) and background (N, n_noise, T) sources."""
    time = np.arange(times) / rate
    phase = rng.uniform(0, 2 * np.pi, (len(frequency), 2, 1))
    angle = 2 * np.pi * frequency[:, None, None] * time + phase
    visual = np.sqrt(2) * (np.sin(angle) + 0.5 * np.sin(2 * angle)) / np.sqrt(1.25)
    spectrum = np.fft.rfft(rng.standard_normal((len(frequency), n_noise, times)))
    hertz = np.fft.rfftfreq(times, 1 / rate)
    amplitude = np.zeros_like(hertz)
    amplitude[1:] = hertz[1:] ** -0.5  # power 1/f; no constant component
    background = np.fft.irfft(spectrum * amplitude, n=times)
    power = np.sqrt((background**2).mean((0, 2), keepdims=True))
    return visual, background / power


def _mixing(rng: np.random.Generator, n_channels: int, n_sources: int) -> np.ndarray:
    """Return a mixing that gives a group of unit-power sources unit power a channel, on average."""
    a = rng.standard_normal((n_channels, n_sources))
    return a / np.linalg.norm(a) * np.sqrt(n_channels)


def _drift(
    rng: np.random.Generator, n_subjects: int, n_sessions: int, n: int, by_subject: float, by_session: float
) -> np.ndarray:
    """Return one matrix (n, n) a subject and session: gain x session's x subject's deviation from I."""
    eye = np.eye(n)
    subject = eye + by_subject / np.sqrt(n) * rng.standard_normal((n_subjects, 1, n, n))
    session = eye + by_session / np.sqrt(n) * rng.standard_normal((n_subjects, n_sessions, n, n))
    gain = np.exp(
        by_subject * rng.standard_normal((n_subjects, 1, 1, 1))
        + by_session * rng.standard_normal((n_subjects, n_sessions, 1, 1))
    )
    return gain * (session @ subject)


def load_ssvep_simulated(root: Path | None = None, **options: object) -> SignalDataset:
    """Simulate SSVEP signals; ``options`` as of :func:`make_ssvep`."""
    return make_ssvep(**options)  # type: ignore[arg-type]


register(
    DatasetInfo(
        name="ssvep-simulated",
        title="Simulated SSVEP",
        kind="signals",
        loader=load_ssvep_simulated,
        description="SSVEP-like EEG: sources, mixing, 1/f noise, subjects and sessions that drift",
        licence=_LICENCE,
        citation="",
    )
)
