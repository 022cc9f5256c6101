"""NTU RGB+D: the reader, windows, splits, and the conversion, on files written by the published format."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from spdnorm.datasets import CorruptDataError, MissingDataError, StorageError, info, load, spectrum_report
from spdnorm.datasets.ntu import load_ntu_signals, skeleton_covariances
from spdnorm.datasets.ntu_convert import DAMAGED, DONE, FAILED, PENDING, convert, open_converted
from spdnorm.datasets.ntu_names import ACTIONS, damaged_samples, parse_name, split_column
from spdnorm.datasets.skeleton import BodyTrack, main_body, read_skeleton
from spdnorm.datasets.skeleton_windows import crop_resize, random_rotation
from spdnorm.datasets.skeleton_writer import FIRST_TRACKING_ID, random_bodies, write_skeleton

DAMAGED_NAME = "S001C002P005R002A008"


def write_release(folder: Path, count: int, *, seed: int = 0) -> list[str]:
    """Files of the release's names: cameras, subjects and actions take turns."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for k in range(count):
        name = f"S{k // 120 + 1:03d}C{k % 3 + 1:03d}P{k % 40 + 1:03d}R{k % 2 + 1:03d}A{k % 60 + 1:03d}"
        frames = int(rng.integers(30, 60))
        write_skeleton(folder / f"{name}.skeleton", frames, random_bodies(rng, frames))
        names.append(name)
    return names


def test_a_file_reads_back(tmp_path):
    rng = np.random.default_rng(0)
    bodies = random_bodies(rng, 40, motions=(0.1, 0.5, 0.2), missing=7)
    n_frames, read = read_skeleton(write_skeleton(tmp_path / "a.skeleton", 40, bodies))
    assert n_frames == 40
    assert [body.tracking_id for body in read] == [FIRST_TRACKING_ID + k for k in range(3)]
    for body, expected in zip(read, bodies, strict=True):
        assert len(body.frames) == 33
        np.testing.assert_array_equal(body.frames, expected.frames)
        np.testing.assert_allclose(body.joints, expected.joints, rtol=1e-6)
    assert main_body(read).tracking_id == FIRST_TRACKING_ID + 1


def test_bodies_are_told_apart_by_ids_that_a_float_would_merge(tmp_path):
    near = [
        BodyTrack(tracking_id=FIRST_TRACKING_ID + k, frames=np.arange(3), joints=np.full((3, 25, 3), k, "f4"))
        for k in (0, 1)
    ]
    assert float(near[0].tracking_id) == float(near[1].tracking_id)
    _, read = read_skeleton(write_skeleton(tmp_path / "a.skeleton", 3, near))
    assert [float(body.joints.mean()) for body in read] == [0.0, 1.0]


def test_bodies_that_come_and_go(tmp_path):
    rng = np.random.default_rng(0)
    walk = random_bodies(rng, 20, motions=(0.3, 0.3))
    late = BodyTrack(tracking_id=walk[1].tracking_id, frames=np.array([5, 9]), joints=100 * walk[1].joints[:2])
    _, read = read_skeleton(write_skeleton(tmp_path / "a.skeleton", 20, [walk[0], late]))
    assert read[1].frames.tolist() == [5, 9]
    # A flicker of two frames may vary most; asking for more frames leaves it out.
    assert main_body(read).tracking_id == late.tracking_id
    assert main_body(read, min_frames=3).tracking_id == walk[0].tracking_id
    with pytest.raises(CorruptDataError, match="no body is seen in 21 frames"):
        main_body(read, min_frames=21)


def test_no_frames_and_no_bodies(tmp_path):
    assert read_skeleton(write_skeleton(tmp_path / "a.skeleton", 0, [])) == (0, [])
    assert read_skeleton(write_skeleton(tmp_path / "b.skeleton", 5, [])) == (5, [])
    with pytest.raises(CorruptDataError, match="no frame shows a body"):
        main_body([])


def damage(text: str, kind: str) -> str:
    lines = text.splitlines()
    if kind == "truncated":
        return "\n".join(lines[:40])
    if kind == "empty":
        return ""
    if kind == "binary":
        return "\x80\x81 not text"
    line, value = {
        "joints": (3, "24"),
        "body": (2, "1 2 3"),
        "count": (1, "two"),
        "word": (4, lines[4].replace("281.3", "x")),
    }.get(kind, (4, lines[4] + " 7"))
    lines[line] = value
    if kind == "nan":
        lines[4] = "nan" + lines[5][lines[5].index(" ") :]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("truncated", "ends at line 40"),
        ("empty", "ends at line 0"),
        ("binary", "not a complete .skeleton file"),
        ("joints", "24 joints, expected 25"),
        ("body", "expected a body's 10 values"),
        ("count", "expected the number of bodies, found 'two'"),
        ("word", "not numbers"),
        ("long", "does not have 12 values"),
        ("nan", "non-finite joint position in frame 0"),
    ],
)
def test_damaged_files_are_named(tmp_path, kind, message):
    path = write_skeleton(tmp_path / "bad.skeleton", 5, random_bodies(np.random.default_rng(0), 5))
    path.write_text(damage(path.read_text(), kind), encoding="latin-1")
    with pytest.raises(CorruptDataError, match=rf"bad\.skeleton.*{message}"):
        read_skeleton(path)


def test_the_official_list_and_the_names():
    assert len(damaged_samples()) == 302
    assert DAMAGED_NAME in damaged_samples()
    for name in damaged_samples():
        fields = parse_name(name)
        assert 1 <= fields["setup"] <= 17
        assert 1 <= fields["camera"] <= 3
        assert 1 <= fields["subject"] <= 40
        assert 1 <= fields["action"] <= 60
    assert len(ACTIONS) == len(set(ACTIONS)) == 60
    assert ACTIONS[42] == "falling"
    with pytest.raises(ValueError, match="not a name of the form"):
        parse_name("S1C1")


def test_splits():
    camera = np.tile([1, 2, 3], 40)
    subject = np.repeat(np.arange(1, 41), 3)
    metadata = {"camera": camera, "subject": subject}
    assert set(camera[split_column("cross-view", metadata) == "train"]) == {2, 3}
    train = split_column("cross-subject", metadata) == "train"
    assert len(set(subject[train])) == len(set(subject[~train])) == 20
    assert not set(subject[train]) & set(subject[~train])
    half = split_column("random-half", metadata, seed=1)
    assert (half == "train").sum() == 60
    assert (half != split_column("random-half", metadata, seed=2)).any()
    with pytest.raises(ValueError, match="split='x': choose from cross-view, cross-subject, random-half"):
        split_column("x", metadata)


def test_crop_resize_is_torchs_interpolation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 6, 100))
    lengths = np.array([100, 80, 64, 11])
    result = crop_resize(x, lengths, window=64, crop=0.9)
    for row, sequence, length in zip(result, x, lengths, strict=True):
        bias = int((1 - 0.9) * length / 2)
        part = torch.from_numpy(sequence[None, :, bias : length - bias])
        expected = torch.nn.functional.interpolate(part, size=64, mode="linear", align_corners=False)
        np.testing.assert_allclose(row, expected[0].numpy(), atol=1e-12)
    np.testing.assert_allclose(crop_resize(x[:1], lengths[:1], window=100, crop=1.0), x[:1])


def test_random_crops_stay_inside_and_repeat():
    x = np.arange(100.0)[None, None].repeat(500, axis=0)
    lengths = np.full(500, 90)
    result = crop_resize(x, lengths, window=16, crop=(0.5, 1.0), rng=np.random.default_rng(0))
    assert result.min() >= 0
    assert result.max() <= 89
    widths = result[:, 0, -1] - result[:, 0, 0]
    # 16 frames out of a part of 45 to 90 span 15/16 of it.
    assert 40 < widths.min() < 45
    assert 80 < widths.max() < 90
    again = crop_resize(x, lengths, window=16, crop=(0.5, 1.0), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(result, again)
    # While there are enough frames no fewer than the window are taken.
    wide = crop_resize(x, lengths, window=80, crop=(0.1, 0.2), rng=np.random.default_rng(0))
    np.testing.assert_allclose(wide[:, 0, -1] - wide[:, 0, 0], 79)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"crop": (0.5, 1.0)}, "a random crop needs rng"),
        ({"crop": 0.0}, "crop=0.0"),
        ({"crop": (0.9, 0.5), "rng": np.random.default_rng(0)}, "crop="),
        ({"lengths": np.array([0])}, "lengths must lie in 1 to 20"),
    ],
)
def test_wrong_windows_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        crop_resize(**({"x": np.zeros((1, 3, 20)), "lengths": np.array([20])} | options))


def test_rotations_are_rotations():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 75, 4))
    turned = random_rotation(x, rng=np.random.default_rng(1))
    a, b = x.reshape(50, 25, 3, 4), turned.reshape(50, 25, 3, 4)
    np.testing.assert_allclose(np.linalg.norm(a, axis=2), np.linalg.norm(b, axis=2))
    # One rotation for the whole sequence, of determinant 1 and by a small angle.
    for k in range(50):
        rotation = b[k, 0] @ np.linalg.pinv(a[k, 0])
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-9)
        assert np.linalg.det(rotation) == pytest.approx(1)
        np.testing.assert_allclose(rotation @ a[k, 7], b[k, 7], atol=1e-9)
        assert np.arccos((np.trace(rotation) - 1) / 2) < 0.3 * 3
    # About one axis at a time the right-hand rule holds.
    still = random_rotation(x, rng=np.random.default_rng(1), max_angle=0.0)
    np.testing.assert_allclose(still, x)


def test_rotating_the_joints_rotates_the_covariance():
    rng = np.random.default_rng(0)
    x, lengths = rng.normal(size=(2, 75, 90)), np.array([90, 70])
    plain = skeleton_covariances(x, lengths, normalize="trace", regularization=1e-6)
    turned = skeleton_covariances(x, lengths, rotate=True, rng=rng, normalize="trace", regularization=1e-6)
    assert np.abs(plain - turned).max() > 1e-3
    np.testing.assert_allclose(np.linalg.eigvalsh(plain), np.linalg.eigvalsh(turned), atol=1e-9)
    with pytest.raises(ValueError, match="rotate=True needs rng"):
        skeleton_covariances(x, lengths, rotate=True)


@pytest.mark.parametrize("workers", [1, 2])
def test_conversion_and_loading(tmp_path, workers):
    release = tmp_path / "ntu" / "nturgb+d_skeletons"
    names = write_release(release, 70)
    write_skeleton(release / f"{DAMAGED_NAME}.skeleton", 5, random_bodies(np.random.default_rng(0), 5))
    (release / f"{names[3]}.skeleton").write_text("70\n1\n")  # truncated
    write_skeleton(release / f"{names[5]}.skeleton", 9, [])  # nobody there
    with pytest.raises(MissingDataError, match="prepare ntu"):
        load("ntu", tmp_path)
    with pytest.raises(CorruptDataError, match=rf"2 files could not be converted, the first .*({names[3]}|{names[5]})"):
        info("ntu").prepare(tmp_path, workers=workers, progress=False)
    converted = tmp_path / "ntu" / "converted"
    status = np.load(converted / "status.npy")
    assert np.bincount(status, minlength=4)[[PENDING, DONE, DAMAGED, FAILED]].tolist() == [0, 68, 1, 2]
    failures = json.loads((converted / "failures.json").read_text())
    assert set(failures) == {f"nturgb+d_skeletons/{names[3]}.skeleton", f"nturgb+d_skeletons/{names[5]}.skeleton"}
    assert all("ends at line 2" in text or "no frame shows a body" in text for text in failures.values())

    signals, lengths, listed = open_converted(converted)
    assert isinstance(signals, np.memmap)
    assert signals.shape == (71, 75, 300)
    row = listed.index(names[10])
    joints = main_body(read_skeleton(release / f"{names[10]}.skeleton")[1]).joints
    np.testing.assert_array_equal(signals[row, :, : lengths[row]].T.reshape(-1, 25, 3), joints)
    assert not signals[row, :, lengths[row] :].any()

    data = load("ntu", tmp_path)
    assert data.x.shape == (68, 75, 75)
    assert data.x.dtype == "float32"
    assert data.n_classes == 60
    assert not {DAMAGED_NAME, names[3], names[5]} & set(data.column("recording"))
    for k, name in enumerate(data.column("recording")):
        fields = parse_name(str(name))
        assert data.y[k] == fields["action"] - 1
        assert (data.column("split")[k] == "train") == (fields["camera"] in (2, 3))
    np.testing.assert_allclose(np.trace(data.x, axis1=1, axis2=2), 1 + 75e-6, rtol=1e-5)
    report = spectrum_report(data.x.astype("float64"))
    assert (report.condition > 1e5).all()  # 64 frames and 75 channels, all ill-conditioned, as in the paper's table
    raw = load_ntu_signals(tmp_path, split="cross-subject")
    assert isinstance(raw.x, np.memmap)
    assert (raw.column("split") == "none").sum() == 3


def below(pid: int) -> list[int]:
    """All processes below this one."""
    children = [int(c) for task in Path(f"/proc/{pid}/task").iterdir() for c in (task / "children").read_text().split()]
    return children + [member for child in children for member in below(child)]


def test_a_killed_conversion_resumes(tmp_path):
    release, target = tmp_path / "release", tmp_path / "converted"
    write_release(release, 400)
    program = (
        "import sys; from pathlib import Path; from spdnorm.datasets.ntu_convert import convert\n"
        "convert(Path(sys.argv[1]), Path(sys.argv[2]), workers=2, progress=False)"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(release), str(target)])
    deadline = time.monotonic() + 60
    while True:
        assert child.poll() is None, "it was over before it could be killed"
        assert time.monotonic() < deadline
        if (target / "files.json").exists() and (np.load(target / "status.npy") == DONE).sum() > 32:
            break
        time.sleep(0.005)
    family = below(child.pid)
    assert len(family) >= 2
    child.send_signal(signal.SIGKILL)
    child.wait()
    while any(Path(f"/proc/{member}").exists() for member in family):
        assert time.monotonic() < deadline, "a worker outlived the conversion that was killed"
        time.sleep(0.01)
    status = np.load(target / "status.npy")
    done = int((status == DONE).sum())
    assert 0 < done < 400
    with pytest.raises(MissingDataError, match=rf"not finished \({done} of 400 files\).*resumes"):
        open_converted(target)
    # What was done is not done again: take those files away and it still finishes.
    names = json.loads((target / "files.json").read_text())["files"]
    before = np.array(np.load(target / "signals.npy", mmap_mode="r")[status == DONE])
    for name in np.array(names)[status == DONE]:
        os.truncate(release / name, 0)
    convert(release, target, workers=1, progress=False)
    signals, lengths, _ = open_converted(target)
    assert (lengths > 0).all()
    np.testing.assert_array_equal(signals[status == DONE].swapaxes(1, 2), before)


def test_conversion_of_other_files_is_refused(tmp_path):
    release, target = tmp_path / "release", tmp_path / "converted"
    write_release(release, 3)
    convert(release, target, workers=1, progress=False)
    write_release(release, 5)
    with pytest.raises(MissingDataError, match="another target, or restart=True"):
        convert(release, target, workers=1, progress=False)
    convert(release, target, workers=1, progress=False, restart=True)
    assert len(open_converted(target)[2]) == 5
    np.save(target / "lengths.npy", np.zeros(4))
    with pytest.raises(CorruptDataError, match=r"lengths\.npy has shape \(4,\), expected \(5,\)"):
        open_converted(target)
    (target / "lengths.npy").write_bytes(b"")
    with pytest.raises(CorruptDataError, match=r"lengths\.npy cannot be read"):
        open_converted(target)
    os.truncate(target / "signals.npy", 500)
    for use in (lambda: open_converted(target), lambda: convert(release, target, workers=1, progress=False)):
        with pytest.raises(CorruptDataError, match=r"\.npy cannot be read .*prepare ntu --restart"):
            use()
    (target / "files.json").write_text("{")
    with pytest.raises(CorruptDataError, match=r"files\.json cannot be read .*prepare ntu --restart"):
        open_converted(target)
    convert(release, target, workers=1, progress=False, restart=True)
    assert (open_converted(target)[1] > 0).all()


def test_recordings_that_are_too_long_fail_alone(tmp_path):
    release, target = tmp_path / "release", tmp_path / "converted"
    write_release(release, 4)
    convert(release, target, workers=1, progress=False, max_frames=45)
    _, lengths, _ = open_converted(target)
    failures = json.loads((target / "failures.json").read_text())
    assert len(failures) == (lengths == 0).sum() > 0
    assert all("more than max_frames=45" in text for text in failures.values())
    assert lengths.max() <= 45


def test_wrong_folders(tmp_path):
    with pytest.raises(MissingDataError, match="there is no folder"):
        convert(tmp_path / "nowhere", tmp_path / "target")
    with pytest.raises(MissingDataError, match=r"holds no \.skeleton files"):
        convert(tmp_path, tmp_path / "target")
    with pytest.raises(MissingDataError, match="Ask for the data set"):
        info("ntu").prepare(tmp_path)
    (tmp_path / "a.skeleton").write_text("")
    with pytest.raises(ValueError, match="not a name of the form"):
        convert(tmp_path, tmp_path / "target")


def test_too_little_space_is_said_before_anything_is_written(tmp_path):
    names = write_release(tmp_path / "release", 2)
    os.truncate(tmp_path / "release" / f"{names[0]}.skeleton", 10**13)  # a sparse file, larger than the disk
    with pytest.raises(StorageError, match=r"may need .* GB and .* has .* GB free"):
        convert(tmp_path / "release", tmp_path / "target")
    assert {path.name for path in (tmp_path / "target").iterdir()} == {".lock"}


@pytest.mark.parametrize("when", ["at once", "in the middle of a row"])
def test_a_disk_that_fills_up_is_an_error_and_not_a_signal(tmp_path, when):
    release, target = tmp_path / "release", tmp_path / "target"
    write_release(release, 2)
    limit = (
        100_000 if when == "at once" else 128 + 90_000 + 3_000
    )  # the header, the first row, ten frames of the second
    program = (
        "import resource, sys; from pathlib import Path; from spdnorm.datasets import ntu_convert\n"
        "def full(): resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)\n"
        "run = ntu_convert.run\n"
        "ntu_convert.run = lambda *a: (full(), run(*a))[1]\n"
        "sys.argv[4] == 'at once' and full()\n"
        "ntu_convert.convert(Path(sys.argv[1]), Path(sys.argv[2]), workers=1, progress=False)"
    )
    command = [sys.executable, "-c", program, str(release), str(target), str(limit), when]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "StorageError: no space left to write" in done.stderr
    with pytest.raises(MissingDataError):
        open_converted(target)
    convert(release, target, workers=1, progress=False)
    signals, lengths, _ = open_converted(target)
    assert all(signals[k, :, : lengths[k]].all() for k in range(2))


def test_the_array_takes_no_more_space_than_its_frames(tmp_path):
    release, target = tmp_path / "release", tmp_path / "target"
    write_release(release, 30)
    convert(release, target, workers=1, progress=False)
    taken = (target / "signals.npy").stat().st_blocks * 512
    frames = int(np.load(target / "lengths.npy").sum())
    assert frames * 300 <= taken < frames * 300 + 31 * 2 * 4096


def test_an_archive_in_the_folder_is_unpacked_first(tmp_path):
    write_release(tmp_path / "elsewhere", 4)
    (tmp_path / "ntu").mkdir()
    with zipfile.ZipFile(tmp_path / "ntu" / "nturgbd_skeletons_s001_to_s017.zip", "w") as archive:
        for path in (tmp_path / "elsewhere").iterdir():
            archive.write(path, f"nturgb+d_skeletons/{path.name}")
    info("ntu").prepare(tmp_path, workers=1, progress=False)
    assert len(load("ntu", tmp_path, split="random-half")) == 4
