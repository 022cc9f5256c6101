"""MAMEM-SSVEP-II: the real files, made files, and recordings shaped as MOABB's."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import replace
from pathlib import Path

import mne
import numpy as np
import pytest
from moabb.datasets import MAMEM2
from moabb.datasets.base import BaseDataset
from scipy.io import savemat
from scipy.stats import rankdata

from spdnorm.datasets import ChecksumError, CorruptDataError, MissingDataError, RemoteFile, load, mamem
from spdnorm.datasets.mamem import CHANNELS, CHANNELS_AS_LISTED, SPLIT_OF_SESSION
from spdnorm.datasets.mamem_raw import ELECTRODES, epochs_of_run, from_recordings, load_mamem_raw, write_segments


@pytest.fixture(scope="module")
def real(data_dir):
    if not (data_dir / "mamem").is_dir():
        pytest.skip("MAMEM is not among the real data")
    return load("mamem", data_dir)


def test_sessions_match_the_protocol(real):
    assert real.x.shape == (5500, 8, 125)
    assert real.sampling_rate == 125
    assert real.class_names == ("6.66 Hz", "7.50 Hz", "8.57 Hz", "10.00 Hz", "12.00 Hz")
    for part in real.split_by("subject").values():
        assert {key: len(half) for key, half in part.split_by("split").items()} == {
            "train": 300,
            "validation": 100,
            "test": 100,
        }
        for session, block in part.split_by("session").items():
            assert len(block) == 100
            assert set(block.column("split")) == {SPLIT_OF_SESSION[session]}
            # 25 trials of four segments; the cues name the five frequencies 5, 5, 6, 5 and 4 times.
            assert np.bincount(block.y).tolist() == [20, 20, 24, 20, 16]
            assert np.bincount(block.column("trial")).tolist() == [4] * 25


def test_segments_of_a_trial_follow_one_another(real):
    trials = real.x.reshape(-1, 4, 8, 125)
    across = np.abs(trials[:, 1:, :, 0] - trials[:, :-1, :, -1])
    within = np.abs(np.diff(trials, axis=-1))
    assert np.median(across) < 1.2 * np.median(within)


def test_the_band_is_half_a_hertz_to_forty(real):
    trials = real.x.reshape(-1, 4, 8, 125).transpose(0, 2, 1, 3).reshape(-1, 8, 500)
    power = np.median(np.abs(np.fft.rfft(trials * np.hanning(500))) ** 2, axis=(0, 1))
    at = {hertz: power[round(hertz * 4)] for hertz in (0.25, 1.0, 39.0, 42.0)}
    assert at[39.0] > 10 * at[42.0]
    assert at[1.0] > 4 * at[0.25]


def test_the_channel_order_is_the_one_the_signals_show(real):
    correlation = np.mean([np.corrcoef(signal) for signal in real.x], axis=0)
    positions = mne.channels.make_standard_montage("GSN-HydroCel-256").get_positions()["ch_pos"]
    places = np.array([positions[ELECTRODES[name]] for name in CHANNELS_AS_LISTED])
    distance = np.linalg.norm(places[:, None] - places, axis=-1)
    orders = np.array(list(itertools.permutations(range(8))))
    i, j = np.triu_indices(8, 1)

    def ranks(values):
        centred = rankdata(values[i, j]) - 29 / 2
        result = np.zeros((8, 8))
        result[i, j] = result[j, i] = centred / np.linalg.norm(centred)
        return result

    # An order of the electrodes permutes the ranks of their distances.
    agreement = ranks(distance)[orders[:, i], orders[:, j]] @ ranks(correlation)[i, j]
    best = {tuple(CHANNELS_AS_LISTED[k] for k in order) for order in orders[agreement < agreement.min() + 1e-9]}
    mirror = {"PO7": "PO8", "PO3": "PO4", "O1": "O2"}
    mirror |= {value: key for key, value in mirror.items()}
    assert best == {CHANNELS, tuple(mirror.get(name, name) for name in CHANNELS)}
    assert agreement.min() < -0.9
    assert agreement[0] > -0.2  # the order as listed in print


def test_oz_shows_the_stimulus_most(real):
    trials = real.x.reshape(-1, 4, 8, 125).transpose(0, 2, 1, 3).reshape(-1, 8, 500)
    power = np.abs(np.fft.rfft(trials * np.hanning(500))) ** 2
    hertz = np.fft.rfftfreq(500, 1 / 125)
    ratio = np.zeros(8)
    for k, name in enumerate(real.class_names):
        mean = power[real.y[::4] == k].mean(axis=0)
        peak = np.abs(hertz - float(name.split()[0])).argmin()
        around = np.concatenate([mean[:, peak - 4 : peak - 1], mean[:, peak + 2 : peak + 5]], axis=1).mean(axis=1)
        ratio += mean[:, peak] / around
    assert CHANNELS[int(ratio.argmax())] == "Oz"


def test_subjects_dtype_and_checksums(real, data_dir):
    part = load("mamem", data_dir, subjects=[11, 2], dtype="float32", verify=True)
    assert part.x.dtype == "float32"
    assert list(dict.fromkeys(part.column("subject").tolist())) == [11, 2]
    np.testing.assert_array_equal(part.x[500:], real.where(subject=2).x.astype("float32"))
    with pytest.raises(ValueError, match=r"subjects=\[0, 12\]: choose from 1 to 11"):
        load("mamem", data_dir, subjects=[0, 12])


def write_subject(folder: Path, subject: int, **changes) -> Path:
    rng = np.random.default_rng(subject)
    fields = {
        "x_test": rng.normal(size=(500, 8, 125)),
        "y_test": np.repeat(rng.integers(0, 5, 125), 4).astype(np.uint8)[:, None],
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"U{subject:03d}.mat"
    savemat(path, {key: value for key, value in (fields | changes).items() if value is not None})
    return path


def non_finite() -> np.ndarray:
    x = np.zeros((500, 8, 125))
    x[7, 2, 3] = np.nan
    return x


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x_test": np.zeros((500, 8, 126))}, r"U001\.mat: x_test has shape \(500, 8, 126\), expected \(500, 8, 125\)"),
        ({"x_test": non_finite()}, r"U001\.mat: x_test: 1 non-finite values, the first at index \(7, 2, 3\)"),
        ({"y_test": np.full((500, 1), 5)}, r"U001\.mat: labels out of range: sample 0 has label 5, expected 0 to 4"),
        ({"y_test": np.full((500, 1), 0.5)}, r"U001\.mat: labels are not whole numbers"),
        ({"y_test": np.full((500, 1), np.nan)}, r"U001\.mat: labels are not whole numbers"),
        ({"y_test": np.zeros((499, 1))}, r"U001\.mat: labels has shape \(499,\), expected \(500,\)"),
        ({"y_test": np.arange(500)[:, None] % 5}, r"U001\.mat: the four segments of a trial differ in label"),
        ({"y_test": None}, r"U001\.mat lacks the variables \['y_test'\]"),
    ],
)
def test_damaged_files_are_named(tmp_path, changes, message):
    write_subject(tmp_path / "mamem", 1, **changes)
    with pytest.raises(CorruptDataError, match=message):
        load("mamem", tmp_path, subjects=[1])


def test_truncated_and_exchanged_files(tmp_path):
    path = write_subject(tmp_path / "mamem", 1)
    assert len(load("mamem", tmp_path, subjects=[1])) == 500
    with pytest.raises(ChecksumError, match=r"U001\.mat has SHA-256"):
        load("mamem", tmp_path, subjects=[1], verify=True)
    whole = path.read_bytes()
    for keep in (0, 100, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:keep])
        with pytest.raises(CorruptDataError, match=r"U001\.mat \(\d+ bytes\) cannot be read"):
            load("mamem", tmp_path, subjects=[1])


def test_loading_fetches_what_is_missing_and_replaces_nothing(server, tmp_path, monkeypatch):
    own = write_subject(tmp_path / "mamem", 1).read_bytes()  # a user's own preprocessing: not the recorded hash
    body = write_subject(tmp_path / "elsewhere", 2).read_bytes()
    server.files["U002.mat"] = body
    files = tuple(
        RemoteFile(name=name, sha256=hashlib.sha256(body).hexdigest(), url=server.url(name))
        for name in ("U001.mat", "U002.mat")
    )
    monkeypatch.setattr(mamem, "INFO", replace(mamem.INFO, files=files))
    assert len(load("mamem", tmp_path, subjects=[1, 2])) == 1000
    assert (tmp_path / "mamem" / "U001.mat").read_bytes() == own
    assert server.requests == [None]


def test_a_partial_folder(tmp_path):
    write_subject(tmp_path / "mamem", 1)
    with pytest.raises(MissingDataError, match=r"10 of 11 files are missing .*U002\.mat"):
        load("mamem", tmp_path, download=False)
    with pytest.raises(MissingDataError, match=r"the data directory .* does not exist"):
        load("mamem", tmp_path / "no", download=False)


# Recordings shaped as MOABB's MAMEM2: 256 channels E1 to E256 and a stimulus channel at 250 Hz, one session with five
# runs, cues coded 1 to 5.

EVENTS = {"6.66": 1, "7.50": 2, "8.57": 3, "10.00": 4, "12.00": 5}
FREQUENCIES = [6.66, 7.5, 8.57, 10.0, 12.0]


def recording(labels: list[int], *, rate: float = 250.0, gap: float = 7.0, seed: int = 0) -> mne.io.RawArray:
    """A cue every ``gap`` seconds; from it on each electrode k carries k microvolts of the trial's sine."""
    rng = np.random.default_rng(seed)
    samples = int((len(labels) * gap + 6) * rate)
    eeg = 1e-7 * rng.normal(size=(256, samples))
    stim = np.zeros(samples)
    for number, label in enumerate(labels):
        onset = int((1 + number * gap) * rate)
        stim[onset] = label
        time = np.arange(int(5.5 * rate)) / rate
        eeg[:, onset : onset + len(time)] += (
            1e-6 * np.arange(1, 257)[:, None] * np.sin(2 * np.pi * FREQUENCIES[label - 1] * time)
        )
    names = [f"E{k}" for k in range(1, 257)] + ["stim"]
    info = mne.create_info(names, rate, ["eeg"] * 256 + ["stim"])
    return mne.io.RawArray(np.vstack([eeg, stim]), info, verbose=False)


class Recordings(BaseDataset):
    """What ``MAMEM2`` looks like to its caller."""

    def __init__(self, runs: int = 5) -> None:
        super().__init__(
            subjects=[1, 2],
            sessions_per_subject=1,
            events=EVENTS,
            code="Made-MAMEM2",
            interval=[1, 4],
            paradigm="ssvep",
        )
        self.runs = runs

    def get_data(self, subjects=None, *args, **kwargs):
        # 256 channels of all eleven would be 8 GB of memory.
        assert len(subjects) == 1, "more than one subject is held at a time"
        return super().get_data(subjects, *args, **kwargs)

    def _get_single_subject_data(self, subject):
        return {"0": {str(k): recording([1, 4, 2, 5, 3], seed=10 * subject + k) for k in range(self.runs)}}

    def data_path(self, subject, path=None, force_update=False, update_path=None, verbose=None):
        return []


def test_the_protocol_on_one_recording():
    labels = [3, 1, 5, 2, 4, 3]
    x, y = epochs_of_run(recording(labels), events=EVENTS)
    assert x.shape == (24, 8, 125)
    assert y.tolist() == np.repeat(np.array(labels) - 1, 4).tolist()
    # Each channel carries its electrode's amplitude: the eight are the right ones and in order.
    amplitude = x[:, :, 10:-10].std(axis=-1).mean(axis=0) * np.sqrt(2) * 1e6
    expected = [int(ELECTRODES[name][1:]) for name in CHANNELS]
    np.testing.assert_allclose(amplitude, expected, rtol=0.05)
    # What lies outside the band is gone.
    noisy = recording(labels)
    time = noisy.times
    noisy._data[:256] += 1e-3 * np.sin(2 * np.pi * 50 * time)
    filtered, _ = epochs_of_run(noisy, events=EVENTS)
    assert np.abs(filtered - x).max() < 1e-5
    # The four segments are seconds 1 to 5 after the cue: sines of the trial's frequency, in phase with the cue.
    trial = x.reshape(6, 4, 8, 125).transpose(0, 2, 1, 3).reshape(6, 8, 500)
    time = 1 + np.arange(500) / 125
    for k, label in enumerate(labels):
        sine = np.sin(2 * np.pi * FREQUENCIES[label - 1] * time)
        assert np.corrcoef(trial[k, 0], sine)[0, 1] > 0.98


def test_annotations_serve_as_cues():
    raw = recording([1, 2, 3])
    events = mne.find_events(raw, shortest_event=0, verbose=False)
    names = {code: name for name, code in EVENTS.items()}
    noted = raw.copy().drop_channels("stim")
    noted.set_annotations(mne.annotations_from_events(events, raw.info["sfreq"], names, verbose=False))
    for a, b in zip(epochs_of_run(raw, events=EVENTS), epochs_of_run(noted, events=EVENTS), strict=True):
        np.testing.assert_array_equal(a, b)


def test_moabb_shaped_recordings_become_the_papers_set(tmp_path):
    data = from_recordings(Recordings())
    assert data.x.shape == (2 * 5 * 5 * 4, 8, 125)
    assert data.channel_names == CHANNELS
    assert {key: len(part) for key, part in data.split_by("split").items()} == {
        "train": 120,
        "validation": 40,
        "test": 40,
    }
    assert set(data.where(split="validation").column("session")) == {4}
    assert np.bincount(data.y).tolist() == [40] * 5
    assert len(from_recordings(Recordings(), subjects=[2])) == 100
    others = from_recordings(Recordings(), subjects=[1], electrodes=ELECTRODES | {"Oz": "E137"})
    same = np.array([name != "Oz" for name in CHANNELS])
    assert (np.abs(others.x - data.where(subject=1).x).max(axis=(0, 2)) == 0).tolist() == same.tolist()
    write_segments(data, tmp_path / "mamem_raw" / "segments.npz")
    again = load("mamem-raw", tmp_path, dtype="float32")
    assert again.x.dtype == "float32"
    np.testing.assert_allclose(again.x, data.x, rtol=1e-5, atol=1e-5)
    for name, values in data.metadata.items():
        np.testing.assert_array_equal(again.column(name), values)
    with np.load(tmp_path / "mamem_raw" / "segments.npz") as content:
        fields = dict(content)
    for changes, message in (
        ({"x": fields["x"][:, :7]}, r"segments\.npz: x has shape \(200, 7, 125\)"),
        ({"x": fields["x"] * np.inf}, r"segments\.npz: x: .* non-finite"),
        ({"table": fields["table"] + 1}, r"segments\.npz: table: sessions must lie in 1 to 5"),
    ):
        np.savez(tmp_path / "mamem_raw" / "segments.npz", **(fields | changes))
        with pytest.raises(CorruptDataError, match=message):
            load("mamem-raw", tmp_path)
    # Microvolts, as in the preprocessed files.
    assert 50 < np.abs(data.x[:, CHANNELS.index("PO7")]).max() < 200


def write_session(path: Path, labels: list[int], rate: float = 250.0) -> None:
    """A session as the recordings come from their hosts: microvolts, the reference last, pulses of the stimulus."""
    *eeg, stim = recording(labels, rate=rate).get_data()
    onsets = np.flatnonzero(stim)
    # One pulse every 100 ms of a trial, by number, time in milliseconds and sample.
    samples = (onsets[:, None] + np.arange(0, 5 * rate, rate / 10)).astype(np.int64).ravel()
    pulses = np.stack([np.ones_like(samples), samples * 1000 // int(rate), np.ones_like(samples), samples])
    savemat(path, {"eeg": np.vstack([1e6 * np.array(eeg), np.zeros_like(stim)]), "DIN_1": pulses, "labels": labels})


class Files(MAMEM2):
    """MOABB's own class, on files that lie in a folder instead of on its servers."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder

    def data_path(self, subject, path=None, force_update=False, update_path=None, verbose=None):
        return sorted(str(path) for path in self.folder.glob(f"T0{subject:02d}*.mat"))

    def _load_or_fetch_filelist(self, path, *, force_update=False):
        return [{"id": file.name, "name": file.name} for file in self.folder.iterdir()]

    def _prefetch_nemar_sourcedata(self, subjects):
        pass


def test_moabbs_own_reader_leads_to_the_same_segments(tmp_path):
    labels = [[1, 4], [2, 5], [3, 3], [5, 1], [4, 2]]
    for letter, cues in zip("abcde", labels, strict=True):
        write_session(tmp_path / f"T003{letter}.mat", cues)
    dataset = Files(tmp_path)
    assert dataset.event_id == EVENTS
    data = from_recordings(dataset, subjects=[3])
    assert data.x.shape == (5 * 2 * 4, 8, 125)
    assert data.y.tolist() == np.repeat(np.array(labels).ravel() - 1, 4).tolist()
    assert data.column("session").tolist() == np.repeat([1, 2, 3, 4, 5], 8).tolist()
    expected, _ = epochs_of_run(recording(labels[2]), events=EVENTS)
    np.testing.assert_allclose(data.where(session=3).x, 1e6 * expected, rtol=1e-6, atol=1e-6)


def test_recordings_that_do_not_fit_are_named(tmp_path):
    raw = recording([1, 2])
    with pytest.raises(CorruptDataError, match=r"lacks the electrodes \['E126'\]"):
        epochs_of_run(raw.copy().drop_channels("E126"), events=EVENTS)
    with pytest.raises(CorruptDataError, match="no events with the codes"):
        epochs_of_run(raw, events={"other": 9})
    with pytest.raises(CorruptDataError, match="ends before the last trial"):
        epochs_of_run(raw.copy().crop(tmax=11.0), events=EVENTS)
    with pytest.raises(CorruptDataError, match="subject 1 has 4 recordings, expected 5"):
        from_recordings(Recordings(runs=4))
    with pytest.raises(MissingDataError, match="prepare mamem-raw"):
        load_mamem_raw(tmp_path)


def test_electrodes_lie_where_their_names_say():
    positions = mne.channels.make_standard_montage("GSN-HydroCel-256").get_positions()["ch_pos"]
    place = {name: positions[electrode] for name, electrode in ELECTRODES.items()}
    assert set(place) == set(CHANNELS)
    for left, right in (("PO7", "PO8"), ("PO3", "PO4"), ("O1", "O2")):
        np.testing.assert_allclose(place[left] * [-1, 1, 1], place[right], atol=0.006)
        assert place[left][0] < 0
    assert abs(place["Oz"][0]) < 0.003
    assert abs(place["POz"][0]) < 0.003
    assert place["Oz"][2] < place["POz"][2]
    assert place["O1"][2] < place["PO3"][2]
