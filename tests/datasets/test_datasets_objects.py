"""The data set objects, the registry and the splits."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import spdnorm.datasets as datasets
from spdnorm.datasets import (
    CorruptDataError,
    DatasetInfo,
    MatrixDataset,
    MissingExtraError,
    SignalDataset,
    UnknownDatasetError,
    composition,
    group_split,
    random_half,
)
from spdnorm.datasets.extras import require
from spdnorm.datasets.registry import register


def signals(**changes) -> SignalDataset:
    rng = np.random.default_rng(0)
    fields = {
        "name": "made",
        "x": rng.normal(size=(6, 3, 20)),
        "y": np.array([0, 1, 0, 1, 2, 2]),
        "class_names": ("a", "b", "c"),
        "metadata": {"subject": np.array([1, 1, 2, 2, 3, 3]), "split": np.array(["train", "test"] * 3)},
        "sampling_rate": 100.0,
        "channel_names": ("p", "q", "r"),
        "lengths": np.array([20, 19, 18, 17, 16, 15]),
    }
    return SignalDataset(**(fields | changes))


def test_selection_takes_everything_along():
    data = signals()
    part = data.select(data.column("subject") == 2)
    np.testing.assert_array_equal(part.x, data.x[2:4])
    assert part.y.tolist() == [0, 1]
    assert part.lengths.tolist() == [18, 17]
    assert part.column("split").tolist() == ["train", "test"]
    assert data.select(np.array([5, 0])).y.tolist() == [2, 0]
    assert len(data.where(subject=[1, 3], split="train")) == 2
    parts = data.split_by("subject")
    assert list(parts) == [1, 2, 3]
    assert sum(map(len, parts.values())) == len(data)


def test_wrong_selections_are_named():
    data = signals()
    with pytest.raises(KeyError, match=r"no metadata column 'sesion'; it has \['split', 'subject'\]"):
        data.where(sesion=1)
    with pytest.raises(ValueError, match=r"made: no sample has subject \[4\]; there are \[1, 2, 3\]"):
        data.where(subject=[1, 4])
    with pytest.raises(ValueError, match=r"no sample has split \['valid'\]; there are \['test', 'train'\]"):
        data.where(split="valid")
    with pytest.raises(CorruptDataError, match=r"select\(which\) has shape \(2,\)"):
        data.select(np.array([True, False]))
    with pytest.raises(TypeError, match="boolean mask or integer indices"):
        data.select(np.array([0.5]))


def test_tensors_take_torchs_default_precision():
    x, y = signals().tensors()
    assert (x.dtype, y.dtype) == (torch.get_default_dtype(), torch.int64)
    assert signals().tensors(dtype=torch.float64)[0].dtype is torch.float64


def test_tensors_of_a_read_only_memory_map_may_be_written(tmp_path):
    np.save(tmp_path / "x.npy", signals().x)
    mapped = signals(x=np.load(tmp_path / "x.npy", mmap_mode="r"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, _ = mapped.tensors(dtype=torch.float64)
    x.zero_()
    np.testing.assert_array_equal(mapped.x, signals().x)


def test_to_spd_carries_names_and_regularisation():
    matrices = signals().to_spd(regularization=1e-3, dtype="float32")
    assert isinstance(matrices, MatrixDataset)
    assert matrices.x.shape == (6, 3, 3)
    assert matrices.x.dtype == "float32"
    assert matrices.feature_names == ("p", "q", "r")
    assert matrices.regularization == 1e-3
    more = matrices.regularized(1.0)
    assert more.regularization == pytest.approx(1.001)
    np.testing.assert_allclose(more.x - matrices.x, np.broadcast_to(np.eye(3), (6, 3, 3)), atol=1e-6)
    scaled = signals().to_spd().normalized()
    np.testing.assert_allclose(np.trace(scaled.x, axis1=1, axis2=2), 1)
    with pytest.raises(ValueError, match="normalize before regularizing"):
        more.normalized()
    with pytest.raises(ValueError, match="matrix 0 has no positive trace"):
        signals(x=np.zeros((6, 3, 20))).to_spd().normalized()
    # Lengths are minded: the first 15 samples decide the last matrix.
    np.testing.assert_allclose(matrices.x[5], np.cov(signals().x[5, :, :15]) + 1e-3 * np.eye(3), rtol=1e-5)


def test_objects_are_frozen_and_can_be_pickled():
    data = signals()
    with pytest.raises(AttributeError):
        data.name = "other"
    with pytest.raises(TypeError):
        data.metadata["subject"] = np.zeros(6)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.x, data.x)
    assert again.column("split").tolist() == data.column("split").tolist()
    with pytest.raises(TypeError):
        again.metadata["subject"] = np.zeros(6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.array([0, 1, 0, 1, 2, 3])}, "labels out of range: sample 5 has label 3, expected 0 to 2"),
        ({"y": np.array([0, -1, 0, 1, 2, 2])}, "sample 1 has label -1"),
        ({"y": np.zeros(6)}, "labels are float64, expected integers"),
        ({"y": np.zeros(5, int)}, r"labels has shape \(5,\), expected \(6,\)"),
        ({"x": np.zeros((6, 3))}, r"x \(samples, channels, times\) has shape \(6, 3\)"),
        ({"channel_names": ("p",)}, r"expected \(any, 1, any\)"),
        ({"metadata": {"subject": np.zeros(5)}}, "metadata column 'subject'"),
        ({"lengths": np.ones(2)}, "lengths has shape"),
    ],
)
def test_what_does_not_fit_is_named(changes, message):
    with pytest.raises(CorruptDataError, match=message):
        signals(**changes)


def test_matrices_must_be_square():
    with pytest.raises(CorruptDataError, match=r"x \(samples, n, n\)"):
        MatrixDataset(name="made", x=np.zeros((2, 3, 4)), y=np.zeros(2, int), class_names=("a",))


def test_composition_counts():
    counts = composition(signals(), limit=2)
    assert counts == {"class": {"a": 2, "b": 2, "c": 2}, "split": {"test": 3, "train": 3}}


def test_the_registry_lists_its_names_on_a_miss():
    with pytest.raises(
        UnknownDatasetError, match=r"'mamen'. Did you mean 'mamem'\? Known: basic-motions, .*moabb:NAME"
    ):
        datasets.load("mamen")
    assert datasets.info("CMU_mocap").name == "cmu-mocap"
    entry = datasets.info("spd-simulated")
    with pytest.raises(ValueError, match="registered already"):
        register(entry)
    with pytest.raises(ValueError, match=r"name='My_Set': register it as 'my-set'"):
        register(replace(entry, name="My_Set"))


@pytest.mark.parametrize("name", datasets.names())
def test_every_entry_is_complete(name):
    entry = datasets.info(name)
    assert isinstance(entry, DatasetInfo)
    assert entry.title
    assert entry.description
    assert entry.licence
    # What needs files says where to get them, and each recorded file has a hash.
    assert not entry.folder or (entry.instructions and entry.homepage.startswith("http"))
    assert all(len(file.sha256) == 64 for file in entry.files)


def test_a_missing_package_names_its_extra():
    with pytest.raises(MissingExtraError, match=r"needs the package 'nosuch'.*pip install 'spdnorm\[eeg\]'"):
        require("nosuch.module", extra="eeg", purpose="This")


def test_generated_and_bundled_data_need_no_data_folder():
    code = "import sys; sys.modules['platformdirs'] = None; import spdnorm.datasets as d; d.load(sys.argv[1])"
    for name, status in (("spd-simulated", 0), ("japanese-vowels", 0), ("ntu", 1)):
        environment = {key: value for key, value in os.environ.items() if key != "SPDNORM_DATA"}
        command = [sys.executable, "-c", code, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == status
    assert "MissingExtraError: the default data folder needs the package 'platformdirs'" in done.stderr


def test_names_are_found_without_torch():
    code = "import sys, spdnorm.datasets as d; d.names(); d.data_root('x'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        datasets.nosuch  # noqa: B018
    assert set(dir(datasets)) == set(datasets.__all__)
    assert all(getattr(datasets, name) is not None for name in datasets.__all__)


def test_group_splits_keep_groups_whole():
    groups = np.repeat(np.arange(20), np.arange(1, 21))
    for seed in range(20):
        test = group_split(groups, test_size=0.3, seed=seed)
        assert not set(groups[test]) & set(groups[~test])
        assert 0.2 < test.mean() < 0.5
    assert (group_split(groups, seed=1) != group_split(groups, seed=2)).any()
    two = np.array(["a"] * 99 + ["b"])
    assert 0 < group_split(two, test_size=0.9).sum() < 100
    with pytest.raises(ValueError, match="nothing to split by"):
        group_split(np.zeros(5))
    with pytest.raises(ValueError, match=r"test_size=1.5"):
        group_split(groups, test_size=1.5)


def test_random_halves():
    assert random_half(7, seed=0).sum() == 3
    assert (random_half(100, seed=0) == random_half(100, seed=0)).all()
    assert (random_half(100, seed=0) != random_half(100, seed=1)).any()
