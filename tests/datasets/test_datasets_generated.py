"""Bundled data and generators."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch

from spdnorm import geometry
from spdnorm.datasets import load, make_spd_classes, make_ssvep, spectrum_report
from spdnorm.datasets.synthetic import SPD_METRICS


def test_japanese_vowels():
    data = load("japanese-vowels")
    assert data.x.shape == (640, 12, 29)
    assert data.n_classes == 9
    assert data.class_names[0] == "speaker 1"
    assert (data.lengths.min(), data.lengths.max()) == (7, 29)
    assert {key: len(part) for key, part in data.split_by("split").items()} == {"train": 270, "test": 370}
    # The training half has 30 utterances of each speaker, as its authors state.
    assert np.bincount(data.where(split="train").y).tolist() == [30] * 9
    report = spectrum_report(data.to_spd())
    assert report.rank.max() == 12
    assert report.rank.min() == 6  # 7 frames less the mean


def test_basic_motions():
    data = load("basic-motions", dtype="float32")
    assert data.x.shape == (80, 6, 100)
    assert data.x.dtype == "float32"
    assert data.lengths is None
    assert set(data.class_names) == {"standing", "running", "walking", "badminton"}
    assert np.bincount(data.y).tolist() == [20] * 4


def test_bundled_data_need_no_network_and_no_folder():
    # Every attempt to open a connection in the child is an error.
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from spdnorm.datasets import load\n"
        "print(len(load('japanese-vowels', data_dir='/nonexistent')), len(load('basic-motions')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["640", "80"]


@pytest.mark.parametrize("metric", SPD_METRICS)
@pytest.mark.parametrize("condition_number", [1.0, 1e4, 1e10])
def test_spd_classes_have_the_chosen_condition_number(metric, condition_number):
    exact = make_spd_classes(n_samples=8, metric=metric, condition_number=condition_number, spread=0.0)
    np.testing.assert_allclose(spectrum_report(exact).condition, condition_number, rtol=1e-4)
    data = make_spd_classes(n_samples=40, metric=metric, condition_number=condition_number, spread=0.1)
    np.testing.assert_array_equal(data.x, data.x.swapaxes(1, 2))
    report = spectrum_report(data)
    assert (report.smallest > 0).all()
    assert 0.1 < np.median(report.condition) / condition_number < 10


@pytest.mark.parametrize("metric", SPD_METRICS)
def test_spd_classes_can_be_told_apart(metric):
    data = make_spd_classes(n_samples=200, n_features=6, metric=metric, spread=0.1)
    train, test = data.where(split="train"), data.where(split="test")
    assert np.bincount(train.y).tolist() == np.bincount(test.y).tolist() == [25] * 4
    centres = np.stack([train.x[train.y == k].mean(axis=0) for k in range(4)])
    nearest = np.abs(test.x[:, None] - centres).sum(axis=(2, 3)).argmin(axis=1)
    assert (nearest == test.y).mean() > 0.9


@pytest.mark.parametrize(
    "metric",
    [
        geometry.AffineInvariant(),
        geometry.LogCholesky(),
        geometry.GeneralizedBuresWasserstein(torch.diag(torch.linspace(0.5, 2.0, 6, dtype=torch.float64))),
        geometry.PowerDeformed(geometry.BuresWasserstein(), 0.5),
    ],
    ids=lambda metric: type(metric).__name__,
)
def test_spd_classes_on_any_metric(metric):
    options = {"n_samples": 40, "n_features": 6, "metric": metric, "condition_number": 100.0}
    exact = make_spd_classes(**options, spread=0.0)
    np.testing.assert_allclose(spectrum_report(exact).condition, 100, rtol=1e-6)
    data = make_spd_classes(**options, spread=0.01)
    assert (spectrum_report(data).smallest > 0).all()
    # Each sample lies as far from its centre as the tangent vector was long: spread times that of a Gaussian matrix.
    distance = metric.distance(torch.from_numpy(exact.x), torch.from_numpy(data.x)).numpy()
    expected = 0.01 * np.sqrt(6 + 6 * 5 / 2)  # n diagonal entries of variance 1, n(n-1)/2 pairs of variance 1/2
    assert np.mean(distance) == pytest.approx(expected, rel=0.1)


def test_spd_classes_repeat_and_fill_a_memory_map(tmp_path):
    options = {"n_samples": 50, "n_features": 5, "seed": 3}
    data = make_spd_classes(**options)
    np.testing.assert_array_equal(make_spd_classes(**options).x, data.x)
    assert (make_spd_classes(**options | {"seed": 4}).x != data.x).any()
    out = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype="float32", shape=(50, 5, 5))
    mapped = make_spd_classes(**options, out=out, chunk_size=50)
    assert isinstance(mapped.x, np.memmap)
    np.testing.assert_allclose(mapped.x, data.x, rtol=1e-6)
    assert load("spd-simulated", **options).x.shape == (50, 5, 5)


@pytest.mark.slow
def test_spd_classes_at_ntu_scale(tmp_path):
    shape = (56_880, 75, 75)
    out = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype="float32", shape=shape)
    data = make_spd_classes(n_samples=shape[0], n_features=75, n_classes=60, condition_number=1e6, out=out)
    report = spectrum_report(data.x[::1000])
    assert 1e5 < np.median(report.condition_on_range) < 1e8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "xyz"}, "metric='xyz': choose from aim, lem, lcm, bwm, or give a metric"),
        ({"condition_number": 0.5}, "condition_number=0.5"),
        ({"n_samples": 0}, "at least 1"),
        ({"out": np.zeros((1, 2, 2))}, r"out has shape \(1, 2, 2\)"),
    ],
)
def test_wrong_generator_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_spd_classes(**options)


def test_ssvep_has_its_peaks_and_its_slope():
    data = make_ssvep(n_subjects=2, duration=4.0, snr_db=0.0, subject_drift=0.0, session_drift=0.0)
    spectrum = (np.abs(np.fft.rfft(data.x)) ** 2).mean(axis=1)
    hertz = np.fft.rfftfreq(data.n_times, 1 / data.sampling_rate)
    for k, name in enumerate(data.class_names):
        power = spectrum[data.y == k].mean(axis=0)
        for harmonic in (1, 2):
            peak = np.abs(hertz - harmonic * float(name.split()[0])).argmin()
            around = np.r_[power[peak - 4 : peak - 1], power[peak + 2 : peak + 5]].mean()
            assert power[peak] > 4 * around
    # 1/f: where nothing flickers, a decade up is about a tenth of the power.
    quiet = make_ssvep(n_subjects=2, duration=4.0, snr_db=-60.0)
    power = (np.abs(np.fft.rfft(quiet.x)) ** 2).mean(axis=(0, 1))
    low, high = power[(hertz > 2) & (hertz < 4)].mean(), power[(hertz > 20) & (hertz < 40)].mean()
    assert 4 < low / high < 20


def test_ssvep_subjects_and_sessions_drift():
    def gap(of: str, **drift) -> float:
        matrices = make_ssvep(**drift, duration=4.0, seed=2).to_spd()
        means = np.stack([part.x.mean(axis=0) for part in matrices.split_by(of).values()])
        return float(np.linalg.norm(means - means.mean(axis=0)) / np.linalg.norm(means))

    still = gap("subject", subject_drift=0.0, session_drift=0.0)
    assert gap("subject", subject_drift=0.5, session_drift=0.0) > 3 * still
    assert gap("recording", subject_drift=0.0, session_drift=0.5) > 3 * gap(
        "recording", subject_drift=0.0, session_drift=0.0
    )


def test_ssvep_metadata_and_repetition():
    data = load("ssvep-simulated", n_subjects=3, n_sessions=2, trials_per_class=4)
    assert len(data) == 3 * 2 * 4 * 5
    assert len(np.unique(data.column("recording"))) == 6
    assert set(data.where(split="test").column("session")) == {2}
    assert np.bincount(data.y).tolist() == [24] * 5
    np.testing.assert_array_equal(data.x, make_ssvep(n_subjects=3, n_sessions=2, trials_per_class=4).x)
    assert spectrum_report(data.to_spd()).rank.min() == 8


@pytest.mark.parametrize(
    ("options", "message"), [({"n_subjects": 0}, "at least 1"), ({"sampling_rate": 40.0}, "below half")]
)
def test_wrong_simulator_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make_ssvep(**options)
