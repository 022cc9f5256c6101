"""The SSVEP exoskeleton set, and MOABB data sets by name, through MOABB's own objects."""

from __future__ import annotations

import os

import numpy as np
import pytest
import requests
from dataset_makers import write_epochs_file
from moabb.datasets.download import DatasetDownloadError
from moabb.datasets.fake import FakeDataset
from moabb.paradigms import MotorImagery

from spdnorm.datasets import (
    CorruptDataError,
    DatasetError,
    DownloadError,
    MissingDataError,
    UnknownDatasetError,
    info,
    load,
)
from spdnorm.datasets.moabb import download_folder, from_moabb
from spdnorm.datasets.ssvep_exoskeleton import write_epochs


def test_the_exoskeleton_set(data_dir):
    data = load("ssvep-exoskeleton", data_dir)
    assert data.x.shape == (1056, 8, 1280)
    assert data.class_names == ("rest", "13Hz", "21Hz", "17Hz")
    assert data.sampling_rate == 256
    assert "Oz" in data.channel_names
    assert set(data.column("subject")) == set(range(1, 13))
    # A session belongs to one subject, and its recording's name says which.
    for session, part in data.split_by("session").items():
        assert len(set(part.column("subject"))) == 1, session
        assert str(part.column("recording")[0]).startswith(f"subject{part.column('subject')[0]:02d}")
    hertz = np.fft.rfftfreq(1280, 1 / 256)
    power = (np.abs(np.fft.rfft(data.x.astype("float64"))) ** 2).mean(axis=1)
    for k, name in enumerate(data.class_names[1:], start=1):
        peak = np.abs(hertz - float(name[:-2])).argmin()
        assert power[data.y == k, peak].mean() > 1.5 * power[data.y == 0, peak].mean()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": np.zeros((6, 3, 10))}, r"epochs\.npz: x has shape"),
        ({"x": np.full((6, 2, 10), np.inf)}, r"epochs\.npz: x: 120 non-finite"),
        ({"session": np.full(6, 3)}, r"epochs\.npz: session: labels out of range"),
        ({"y": np.full(6, 2)}, "labels out of range"),
        ({"y": np.full(6, 0.5)}, r"epochs\.npz: labels are not whole numbers"),
    ],
)
def test_damaged_epochs_are_named(tmp_path, changes, message):
    write_epochs_file(tmp_path / "ssvep_exoskeleton", **changes)
    with pytest.raises(CorruptDataError, match=message):
        load("ssvep-exoskeleton", tmp_path)


def test_made_epochs_load_and_missing_ones_say_what_to_do(tmp_path):
    with pytest.raises(MissingDataError, match="prepare ssvep-exoskeleton"):
        load("ssvep-exoskeleton", tmp_path)
    write_epochs_file(tmp_path / "ssvep_exoskeleton")
    assert load("ssvep-exoskeleton", tmp_path).column("recording").tolist() == ["a"] * 6


def ssvep() -> FakeDataset:
    return FakeDataset(
        event_list=["rest", "13", "21"],
        n_sessions=2,
        n_runs=1,
        n_subjects=2,
        paradigm="ssvep",
        channels=("Oz", "O1", "O2"),
        sfreq=256,
        duration=60,
        n_events=9,
        seed=1,
    )


def test_epochs_from_moabb_take_the_same_layout(tmp_path):
    write_epochs(ssvep(), tmp_path / "ssvep_exoskeleton" / "epochs_from_moabb.npz", seconds=3.0)
    data = load("ssvep-exoskeleton", tmp_path)
    assert data.x.shape == (2 * 2 * 9, 3, 768)
    assert data.class_names == ("rest", "13Hz", "21Hz")  # the order of the event codes, as in epochs.npz
    # The unit is the recordings' own.
    raw = ssvep().get_data([1])[1]["0"]["0"].pick("eeg").filter(1.0, 45.0).get_data()
    assert data.x.std() == pytest.approx(raw.std(), rel=0.2)
    assert data.sampling_rate == 256
    assert len(np.unique(data.column("session"))) == 4


def test_moabb_data_sets_through_their_paradigm():
    imagery = FakeDataset(
        event_list=["left_hand", "right_hand"],
        n_subjects=3,
        n_sessions=2,
        paradigm="imagery",
        n_events=10,
        duration=60,
        seed=0,
    )
    data = from_moabb(imagery, name="moabb:Fake", subjects=[1, 3], resample=64.0, channels=["Cz", "C3"])
    assert data.sampling_rate == 64
    assert data.channel_names == ("Cz", "C3")
    assert set(data.column("subject")) == {1, 3}
    assert len(data) == 2 * 2 * 2 * 10
    assert data.class_names == ("left_hand", "right_hand")
    # The numbers and the labels are those of MOABB's own arrays, in microvolts.
    paradigm = MotorImagery(n_classes=2, resample=64.0, channels=["Cz", "C3"])
    x, labels, _ = paradigm.get_data(dataset=imagery, subjects=[1, 3])
    np.testing.assert_allclose(data.x, x, rtol=1e-5, atol=1e-5)
    assert [data.class_names[k] for k in data.y] == list(labels)
    assert len(np.unique(data.column("recording"))) == 2 * 2 * 2
    assert data.to_spd(shrinkage="oas").x.shape == (80, 2, 2)


def test_any_moabb_name_is_an_entry():
    assert info("moabb:BNCI2014_001").title == "BNCI2014_001 (MOABB)"
    with pytest.raises(
        UnknownDatasetError, match=r"MOABB has no data set 'BNCI2014_0001'; close names: .*BNCI2014_001"
    ):
        load("moabb:BNCI2014_0001")


def test_a_paradigm_without_a_default_is_named():
    data = ssvep()
    data.paradigm = "rstate"
    with pytest.raises(DatasetError, match="paradigm 'rstate' has no default here; pass paradigm="):
        from_moabb(data, name="x")


def test_moabb_without_a_network_is_a_download_error(tmp_path):
    with pytest.raises(DownloadError, match=r"MOABB could not download .*check the network"), download_folder(tmp_path):
        requests.get("http://127.0.0.1:9/nothing", timeout=5)
    with pytest.raises(DownloadError, match="a page"), download_folder(tmp_path):
        raise DatasetDownloadError("a page came instead of the file")


def test_moabb_downloads_go_below_the_data_root(tmp_path, monkeypatch):
    monkeypatch.delenv("MNE_DATA", raising=False)
    monkeypatch.setenv("_MNE_FAKE_HOME_DIR", str(tmp_path))  # the user's own settings play no part
    with download_folder(tmp_path / "moabb"):
        assert os.environ["MNE_DATA"] == str(tmp_path / "moabb")
        assert (tmp_path / "moabb").is_dir()
    assert "MNE_DATA" not in os.environ
    monkeypatch.setenv("MNE_DATA", "elsewhere")
    with download_folder(tmp_path / "moabb"):
        assert os.environ["MNE_DATA"] == "elsewhere"
