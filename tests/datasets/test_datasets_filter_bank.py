"""Signals in frequency bands."""

from __future__ import annotations

import numpy as np
import pytest

from spdnorm.datasets import filter_bank, load, make_ssvep

TIME = np.arange(1024) / 256


def test_a_tone_stays_in_its_band_and_in_its_place() -> None:
    tone = np.sin(2 * np.pi * 13 * TIME)[None, None]
    inside, outside = filter_bank(tone, [(11, 15), (20, 24)], sampling_rate=256)[0]
    # Forwards and backwards: no shift in time. The ends, where the filter settles, are left out.
    assert np.abs(inside - tone[0, 0])[256:-256].max() < 0.02
    assert np.abs(outside)[256:-256].max() < 1e-3


def test_it_is_linear_and_keeps_shape_precision_and_names() -> None:
    eeg = make_ssvep(n_subjects=1, n_sessions=1, trials_per_class=2)
    bands = [(6, 8), (11, 13), (15, 20)]
    filtered = eeg.filtered(bands)
    assert filtered.x.shape == (10, 24, 125)
    assert filtered.channel_names[8] == f"{eeg.channel_names[0]} 11-13 Hz"
    assert filtered.to_spd().n_features == 24
    assert filter_bank(eeg.x.astype("float32"), bands, sampling_rate=125).dtype == np.float32
    twice = filter_bank(2 * eeg.x + eeg.x[::-1], bands, sampling_rate=125)
    np.testing.assert_allclose(twice, 2 * filtered.x + filtered.x[::-1], atol=1e-9)


@pytest.mark.parametrize("bands", [[(0, 5)], [(5, 4)], [(60, 70)]])
def test_bands_that_are_none_are_named(bands: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match=r"above 0 and below half the sampling rate, 62\.5 Hz"):
        filter_bank(np.zeros((1, 1, 125)), bands, sampling_rate=125)
    with pytest.raises(ValueError, match="bands is empty"):
        filter_bank(np.zeros((1, 1, 125)), [], sampling_rate=125)


def test_padded_signals_are_refused() -> None:
    vowels = load("japanese-vowels")
    assert vowels.lengths is not None
    with pytest.raises(ValueError, match="padded form"):
        vowels.filtered([(1, 2)])
