"""HDM05 and CMU motion capture: ASF/AMC files, covariances, the real subsets."""

from __future__ import annotations

import re
import zipfile

import dataset_makers as make
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from spdnorm.datasets import CorruptDataError, MissingDataError, covariance, group_split, info, load, spectrum_report
from spdnorm.datasets.asf_amc import read_amc, read_asf
from spdnorm.datasets.cmu_prepare import windows
from spdnorm.datasets.hdm05_names import CLASSES, largest_classes, parse_amc_name
from spdnorm.datasets.kinematics import joint_positions

RNG = np.random.default_rng(0)


@pytest.fixture
def figure(tmp_path):
    rng = np.random.default_rng(1)
    bones = make.write_asf(tmp_path / "HDM_bd.asf", rng)
    motion = make.write_amc(tmp_path / "HDM_bd_clap1Reps_001_120.amc", rng, frames=7)
    return tmp_path, bones, motion


def kinematics(bones, motion):
    """The definition, one joint and one frame at a time, with scipy's rotations."""
    result = np.zeros((len(motion["root"]), 31, 3))
    for t, root in enumerate(motion["root"]):
        turned = {"root": Rotation.from_euler("xyz", root[3:], degrees=True)}
        place = {"root": root[:3]}
        for bone in make.BONES:
            parent = make.PARENT[bone]
            axis = Rotation.from_euler("xyz", bones[bone]["axis"], degrees=True)
            angles = np.zeros(3)
            for k, name in enumerate(make.DOF.get(bone, ())):
                angles["xyz".index(name[1])] = motion[bone][t, k]
            local = Rotation.from_euler("xyz", angles, degrees=True)
            turned[bone] = turned[parent] * axis * local * axis.inv()
            place[bone] = place[parent] + turned[bone].apply(bones[bone]["direction"] * bones[bone]["length"])
        result[t] = [place[name] for name in ("root", *make.BONES)]
    return result


def test_forward_kinematics_agree_with_the_definition(figure):
    folder, bones, motion = figure
    skeleton = read_asf(folder / "HDM_bd.asf")
    assert skeleton.joint_names == ("root", *make.BONES)
    assert skeleton.length_unit == 0.45
    read = read_amc(folder / "HDM_bd_clap1Reps_001_120.amc", skeleton)
    positions = joint_positions(skeleton, read)
    assert positions.shape == (7, 31, 3)
    np.testing.assert_allclose(positions, kinematics(bones, motion), atol=1e-7)
    np.testing.assert_allclose(joint_positions(skeleton, read, scale=2.54), 2.54 * positions, atol=1e-9)


def test_bones_keep_their_lengths_and_a_still_figure_is_the_rest_pose(figure):
    folder, bones, _ = figure
    skeleton = read_asf(folder / "HDM_bd.asf")
    positions = joint_positions(skeleton, read_amc(folder / "HDM_bd_clap1Reps_001_120.amc", skeleton))
    index = {name: k for k, name in enumerate(skeleton.joint_names)}
    still = {name: np.zeros((1, len(dof))) for name, dof in make.DOF.items()} | {"root": np.zeros((1, 6))}
    rest = joint_positions(skeleton, still)[0]
    for bone in make.BONES:
        step = positions[:, index[bone]] - positions[:, index[make.PARENT[bone]]]
        np.testing.assert_allclose(np.linalg.norm(step, axis=-1), bones[bone]["length"], rtol=1e-9)
        expected = bones[bone]["direction"] * bones[bone]["length"]
        np.testing.assert_allclose(rest[index[bone]] - rest[index[make.PARENT[bone]]], expected, atol=1e-9)


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("lfemur ", "nosuch ", "no moving bone 'nosuch'"),
        ("ltibia ", "ltibia 1 ", "ltibia has 2 values, expected 1"),
        ("\n2\n", "\n2\nroot 0 0 0 0 0 0\n", "not a complete AMC file"),
        ("root ", "root x", "not a complete AMC file"),
        (":DEGREES", ":RADIANS", "line 3: :RADIANS, and the skeleton counts the other way"),
    ],
)
def test_damaged_motion_is_named(figure, old, new, message):
    folder, _, _ = figure
    path = folder / "HDM_bd_clap1Reps_001_120.amc"
    edit(path, old, new)
    with pytest.raises(CorruptDataError, match=rf"001_120\.amc.*{message}"):
        read_amc(path, read_asf(folder / "HDM_bd.asf"))


def test_truncated_motion_and_skeletons_are_named(figure):
    folder, _, _ = figure
    skeleton = read_asf(folder / "HDM_bd.asf")
    path = folder / "HDM_bd_clap1Reps_001_120.amc"
    whole = path.read_text()
    path.write_text(whole[: len(whole) - 200])
    with pytest.raises(CorruptDataError, match="not a complete AMC file"):
        read_amc(path, skeleton)
    path.write_text(re.sub(r"ltibia \S+", "ltibia nan", whole, count=2))
    with pytest.raises(
        CorruptDataError, match=r"001_120\.amc: ltibia: 2 non-finite values, the first at index \(0, 0\)"
    ):
        read_amc(path, skeleton)
    asf = folder / "HDM_bd.asf"
    whole = asf.read_text()
    for cut, reason in ((whole.index(":hierarchy"), "hierarchy"), (whole.index(":root"), "root"), (0, "root")):
        asf.write_text(whole[:cut])
        with pytest.raises(CorruptDataError, match=rf"HDM_bd\.asf: not a complete ASF file .*{reason}"):
            read_asf(asf)
    for old, new in (("direction ", "direction 0 "), ("length 0.45", "length inf")):
        asf.write_text(whole.replace(old, new, 1))
        with pytest.raises(CorruptDataError, match=r"HDM_bd\.asf: not a complete ASF file"):
            read_asf(asf)
    asf.write_text(whole.replace("lowerback upperback", "lowerback nosuch"))
    with pytest.raises(CorruptDataError, match="nosuch"):
        read_asf(asf)


def test_hdm05_from_the_raw_release(tmp_path):
    rng = np.random.default_rng(2)
    folder = tmp_path / "hdm05_raw"
    for actor in ("bd", "mm"):
        make.write_asf(folder / f"HDM_{actor}.asf", rng)
    counts = {"clap1Reps": 4, "squat1Reps": 2, "turnLeft": 3}
    for motion, count in counts.items():
        for take in range(1, count + 1):
            actor = "bd" if take % 2 else "mm"
            name = f"HDM_{actor}_{motion}_{take:03d}_120.amc"
            make.write_amc(folder / "HDM05_cut_amc" / motion / name, rng, frames=20)
    with pytest.raises(MissingDataError, match="prepare hdm05-raw"):
        load("hdm05-raw", tmp_path)
    info("hdm05-raw").prepare(tmp_path, progress=False)
    data = load("hdm05-raw", tmp_path)
    assert data.x.shape == (9, 93, 93)
    assert data.class_names == CLASSES
    assert {CLASSES[k]: int(n) for k, n in enumerate(np.bincount(data.y)) if n} == counts
    assert set(data.column("subject")) == {"bd", "mm"}
    skeleton = read_asf(folder / "HDM_bd.asf")
    path = folder / "HDM05_cut_amc" / "clap1Reps" / "HDM_bd_clap1Reps_001_120.amc"
    positions = joint_positions(skeleton, read_amc(path, skeleton)).reshape(20, 93)
    np.testing.assert_allclose(data.x[0], np.cov(positions.T), rtol=1e-9, atol=1e-9)
    assert spectrum_report(data).rank.max() <= 19
    reduced = load("hdm05-raw", tmp_path, reduced=True)
    assert len(reduced) == 9  # fewer than 117 classes: all stay, and are numbered anew
    assert reduced.class_names == tuple(counts)
    assert np.bincount(reduced.y).tolist() == list(counts.values())
    (folder / "HDM_mm.asf").unlink()
    with pytest.raises(MissingDataError, match=r"needs the skeleton HDM_mm\.asf"):
        info("hdm05-raw").prepare(tmp_path, progress=False)


def test_the_class_list(data_dir):
    assert len(CLASSES) == len(set(CLASSES)) == 130
    assert list(CLASSES) == sorted(CLASSES)
    assert set(load("hdm05-11class", data_dir).class_names) <= set(CLASSES)


def test_the_reduced_classes_are_the_largest():
    y = np.repeat(np.arange(130), 10 + RNG.permutation(130))
    kept = largest_classes(y)
    counts = np.bincount(y)
    assert len(kept) == 117
    assert counts[kept].min() > np.delete(counts, kept).max()
    assert largest_classes(np.array([5, 5, 3, 3, 1]), n_classes=2).tolist() == [3, 5]
    # Leaving out 13 of 130 classes cannot take 2,337 sequences to 2,086: the smallest hold too few.
    assert 13 / 130 * 2337 < 2337 - 2086
    assert parse_amc_name("HDM_bd_clap1Reps_001_120.amc") == {
        "actor": "bd",
        "motion": "clap1Reps",
        "take": "001",
        "rate": "120",
    }
    with pytest.raises(ValueError, match="not a name of the form"):
        parse_amc_name("clap.amc")


def write_matrices(folder, count=6):
    folder.mkdir(parents=True)
    for k in range(count):
        np.save(folder / f"{k}_{k + 3}_{20 * k}.npy", make.random_spd(np.random.default_rng(k), 93))


def test_hdm05_covariances(tmp_path):
    write_matrices(tmp_path / "hdm05" / "inner")
    with pytest.raises(MissingDataError, match="holds 6 of 2086 files"):
        load("hdm05", tmp_path)
    data = load("hdm05", tmp_path, expect=None, regularization=0.5)
    assert data.x.shape == (6, 93, 93)
    assert data.n_classes == 117
    assert data.y.tolist() == [0, 20, 40, 60, 80, 100]
    assert data.column("id").tolist() == list(range(6))
    np.testing.assert_allclose(data.x[2], make.random_spd(np.random.default_rng(2), 93) + 0.5 * np.eye(93))
    assert (data.column("split") == "train").sum() == 3
    assert load("hdm05", tmp_path, expect=6, dtype="float32").x.dtype == "float32"


def test_hdm05_archive_is_unpacked(tmp_path):
    write_matrices(tmp_path / "elsewhere")
    (tmp_path / "hdm05").mkdir()
    with zipfile.ZipFile(tmp_path / "hdm05" / "data.zip", "w") as archive:
        for path in (tmp_path / "elsewhere").iterdir():
            archive.write(path, f"hdm05/{path.name}")
    with pytest.raises(MissingDataError, match="holds no files named"):
        load("hdm05", tmp_path)
    info("hdm05").prepare(tmp_path)
    assert len(load("hdm05", tmp_path, expect=None)) == 6


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(92), r"shape \(92, 92\), expected \(93, 93\)"),
        (np.triu(np.ones((93, 93))), "not symmetric"),
        (np.full((93, 93), np.inf), "non-finite"),
        (np.eye(93) * 1j, "complex"),
    ],
)
def test_damaged_covariances_are_named(tmp_path, matrix, message):
    write_matrices(tmp_path / "hdm05")
    np.save(tmp_path / "hdm05" / "3_6_60.npy", matrix)
    with pytest.raises(CorruptDataError, match=rf"3_6_60\.npy.*{message}"):
        load("hdm05", tmp_path, expect=None)


def test_labels_beyond_117_and_truncated_covariances(tmp_path):
    write_matrices(tmp_path / "hdm05")
    path = tmp_path / "hdm05" / "3_6_60.npy"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CorruptDataError, match=r"3_6_60\.npy \(1000 bytes\) cannot be read"):
        load("hdm05", tmp_path, expect=None)
    path.unlink()
    np.save(tmp_path / "hdm05" / "9_9_117.npy", np.eye(93))
    with pytest.raises(CorruptDataError, match="label 117, expected 0 to 116"):
        load("hdm05", tmp_path, expect=None)
    # A zero imaginary part, as some copies have, is no damage.
    (tmp_path / "hdm05" / "9_9_117.npy").unlink()
    np.save(path, np.eye(93).astype(complex))
    assert len(load("hdm05", tmp_path, expect=None)) == 6


def test_the_real_11_class_subset(data_dir):
    data = load("hdm05-11class", data_dir)
    assert data.x.shape == (288, 93, 901)
    assert data.n_classes == 11
    assert set(data.column("subject")) == {"bd", "bk", "dg", "mm", "tr"}
    assert int(data.lengths.sum()) == 71286
    matrices = data.to_spd(dtype="float64")
    # The padding plays no part.
    k = int(data.lengths.argmin())
    expected = np.cov(data.x[k, :, : data.lengths[k]].astype("float64"))
    np.testing.assert_allclose(matrices.x[k], expected, rtol=1e-9, atol=1e-9)
    report = spectrum_report(matrices)
    assert report.condition.min() > 1e5  # all ill-conditioned, as the paper's table has it for HDM05
    # Bones are rigid: the thigh keeps its length in every frame of every sequence.
    joints = data.x[0, :, : data.lengths[0]].T.reshape(-1, 31, 3)
    spread = np.linalg.norm(joints[:, :, None] - joints[:, None], axis=-1).std(axis=0)
    assert (np.sort(spread, axis=1)[:, 1] < 1e-3).all()  # each joint has a neighbour at a fixed distance
    # Nearest class mean in the log-covariances of unseen sequences: the pipeline carries the labels through.
    logs = np.stack([_log(m) for m in covariance(data.x, lengths=data.lengths, dtype="float64", normalize="trace")])
    train = data.column("split") == "train"
    means = np.stack([logs[train & (data.y == c)].mean(axis=0) for c in range(11)])
    nearest = ((logs[~train][:, None] - means) ** 2).sum(axis=(2, 3)).argmin(axis=1)
    assert (nearest == data.y[~train]).mean() > 0.5


def _log(m):
    values, vectors = np.linalg.eigh(m + 1e-6 * np.eye(len(m)))
    return (vectors * np.log(values)) @ vectors.T


def test_the_real_cmu_mocap_set(data_dir):
    data = load("cmu-mocap", data_dir, regularization=1e-3)
    assert data.x.shape == (3944, 93, 93)
    assert data.n_classes == 21
    assert int((data.y == data.class_names.index("walk")).sum()) == 1499
    assert len(np.unique(data.column("subject"))) == 103
    np.testing.assert_array_equal(data.x, data.x.swapaxes(1, 2))
    # The file's upper triangles, plus lambda I (the ranks of all are held by the table of the documentation).
    with np.load(data_dir / "cmu_mocap" / "cov.npz") as content:
        triangles = content["x"][::500]
    plain = data.x[::500].astype("float64") - 1e-3 * np.eye(93)
    np.testing.assert_allclose(plain[:, *np.triu_indices(93)], triangles, rtol=1e-5, atol=1e-6)
    assert spectrum_report(plain, rtol=93 * np.finfo("float32").eps).rank.max() <= 63
    test = group_split(data.column("subject"), test_size=0.5, seed=0)
    assert not set(data.column("recording")[test]) & set(data.column("recording")[~test])


def test_cmu_mocap_from_asf_amc(tmp_path):
    rng = np.random.default_rng(3)
    raw = tmp_path / "cmu_mocap" / "all_asfamc" / "subjects" / "02"
    make.write_asf(raw / "02.asf", rng)
    make.write_amc(raw / "02_01.amc", rng, frames=1000)
    make.write_amc(raw / "02_02.amc", rng, frames=500)
    index = tmp_path / "cmu_mocap" / "index.csv"
    with pytest.raises(MissingDataError, match=r"index\.csv is not there"):
        info("cmu-mocap").prepare(tmp_path)
    index.write_text("recording,class,description\n02_01,walk,a walk\n02_02,run,\n")
    info("cmu-mocap").prepare(tmp_path, progress=False)
    data = load("cmu-mocap", tmp_path)
    assert len(data) == 3  # 250 frames at 30 a second hold two windows of 120, 125 hold one
    assert data.class_names == ("run", "walk")
    assert data.y.tolist() == [1, 1, 0]
    assert data.column("start_frame").tolist() == [0, 120, 0]
    assert data.column("description").tolist() == ["a walk", "a walk", "run"]
    assert data.feature_names[:4] == ("root.x", "root.y", "root.z", "lhipjoint.x")
    skeleton = read_asf(raw / "02.asf")
    positions = joint_positions(skeleton, read_amc(raw / "02_01.amc", skeleton)).reshape(1000, 93)[::4]
    np.testing.assert_allclose(data.x[1], np.cov(positions[120:240].T), rtol=1e-4, atol=1e-3)
    index.write_text("recording,class,description,rate\n02_01,walk,,60\n02_02,run,,\n")
    info("cmu-mocap").prepare(tmp_path, progress=False)
    slower = load("cmu-mocap", tmp_path)
    assert slower.y.tolist() == [1, 1, 1, 1, 0]  # 500 frames at 30 a second
    positions = joint_positions(skeleton, read_amc(raw / "02_01.amc", skeleton)).reshape(1000, 93)[::2]
    np.testing.assert_allclose(slower.x[3], np.cov(positions[360:480].T), rtol=1e-4, atol=1e-3)
    index.write_text("recording,class,description,rate\n02_01,walk,,50\n")
    with pytest.raises(CorruptDataError, match=r"index\.csv, line 2: rate '50' is no multiple of 30"):
        info("cmu-mocap").prepare(tmp_path)
    index.write_text("recording,class,description\n02_07,walk,\n")
    with pytest.raises(MissingDataError, match=r"names 02_07, and 02_07\.amc is not below"):
        info("cmu-mocap").prepare(tmp_path)
    index.write_text("name\n02_01\n")
    with pytest.raises(CorruptDataError, match="the first line must be recording,class,description"):
        info("cmu-mocap").prepare(tmp_path)
    index.write_text("recording,class,description\nwalk,walk,\n")
    with pytest.raises(CorruptDataError, match=r"index\.csv, line 2"):
        info("cmu-mocap").prepare(tmp_path)


def test_windows_drop_the_rest():
    frames = np.arange(10.0)[:, None] * [1, 10]
    cut = windows(frames, length=4)
    assert cut.shape == (2, 2, 4)
    assert cut[1, 1].tolist() == [40, 50, 60, 70]
    assert windows(frames, length=11).shape == (0, 2, 11)
