"""Where data lie, whole files or none, and archives that stay in their folder."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from dataset_makers import GIVE_UP_RIGHTS
from scipy.io import savemat

from spdnorm.datasets import CorruptDataError, MissingDataError, StorageError, data_root
from spdnorm.datasets.archive import extract, unpacked_files
from spdnorm.datasets.cache import atomic_file, dataset_folder, free_space, storage_errors
from spdnorm.datasets.files import files_below, read_mat, read_npy, read_npz, require_files, sha256_of


def test_the_data_root_is_the_argument_then_the_environment_then_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPDNORM_DATA", str(tmp_path / "b"))
    assert data_root(tmp_path / "a") == tmp_path / "a"
    assert data_root() == tmp_path / "b"
    monkeypatch.delenv("SPDNORM_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_root() == tmp_path / "spdnorm" / "data"


def test_an_atomic_file_is_whole_or_absent(tmp_path):
    target = tmp_path / "deep" / "file.bin"
    with atomic_file(target) as stream:
        stream.write(b"whole")
        assert not target.exists()
    assert target.read_bytes() == b"whole"
    with pytest.raises(TypeError), atomic_file(target) as stream:
        stream.write("no bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"whole"
    assert [path.name for path in target.parent.iterdir()] == ["file.bin"]
    mode = target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    assert mode == 0o666 & ~umask


def test_a_full_disk_and_a_file_in_the_way_are_storage_errors(tmp_path):
    with pytest.raises(StorageError, match=r"no space left to write .*--data-dir"), storage_errors(tmp_path):
        os.write(os.open("/dev/full", os.O_WRONLY), b"x")
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write"), atomic_file(tmp_path / "file" / "below"):
        pass


def test_other_errors_pass_unchanged(tmp_path):
    with pytest.raises(FileNotFoundError), storage_errors(tmp_path):
        (tmp_path / "absent").read_text()


def test_free_space_of_a_folder_to_come(tmp_path):
    assert free_space(tmp_path) > 0
    assert free_space(tmp_path / "not" / "yet") == pytest.approx(free_space(tmp_path), rel=0.01)


def test_wrong_folders_are_told_apart(tmp_path):
    def look(root: Path) -> str:
        with pytest.raises(MissingDataError) as caught:
            dataset_folder(root, "mamem", title="MAMEM", instructions="Fetch it.")
        return str(caught.value)

    assert "the data directory" in look(tmp_path / "nowhere")
    assert f"the folder {tmp_path / 'mamem'} does not exist. Fetch it." in look(tmp_path)
    (tmp_path / "own" / "mamem").mkdir(parents=True)
    assert f"give its parent, {tmp_path / 'own'}" in look(tmp_path / "own" / "mamem")
    (tmp_path / "mamem").write_text("")
    assert f"{tmp_path / 'mamem'} is a file, expected a folder" in look(tmp_path)
    assert f"{tmp_path / 'mamem'} is a file, expected a folder" in look(tmp_path / "mamem")


def test_a_partial_folder_names_what_is_missing(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(MissingDataError, match=r"2 of 3 files are missing .*: b, c\. Place them\."):
        require_files(tmp_path, ["a", "b", "c"], title="T", instructions="Place them.")
    with pytest.raises(MissingDataError, match="and 8 more"):
        require_files(tmp_path, [str(k) for k in range(20)], title="T", instructions="")


@pytest.mark.parametrize("keep", [0, 10, 0.5, 0.99])
def test_a_truncated_npz_is_named(tmp_path, keep):
    path = tmp_path / "arrays.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=1000))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(CorruptDataError, match=r"arrays\.npz .*truncated, corrupt"):
        read_npz(path, ["x"])


def test_a_damaged_npz_member_is_named(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez_compressed(path, x=np.random.default_rng(0).normal(size=1000))
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    with pytest.raises(CorruptDataError, match=r"arrays\.npz"):
        read_npz(path, ["x"])


def test_an_npz_that_lacks_an_array(tmp_path):
    np.savez(tmp_path / "arrays.npz", x=np.zeros(1))
    with pytest.raises(CorruptDataError, match=r"lacks the arrays \['y'\]; it has \['x'\]"):
        read_npz(tmp_path / "arrays.npz", ["x", "y"])


class Payload:
    """Would create a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (os.mkdir, (str(self.path),))


def test_pickles_are_never_run(tmp_path):
    trap = np.array([Payload(tmp_path / "run")], dtype=object)
    np.save(tmp_path / "trap.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "trap.npz", x=trap)
    with pytest.raises(CorruptDataError):
        read_npy(tmp_path / "trap.npy")
    with pytest.raises(CorruptDataError):
        read_npz(tmp_path / "trap.npz", ["x"])
    assert not (tmp_path / "run").exists()


def test_a_file_that_is_no_mat_file(tmp_path):
    (tmp_path / "bad.mat").write_bytes(b"not a mat file" * 20)
    with pytest.raises(CorruptDataError, match=r"bad\.mat"):
        read_mat(tmp_path / "bad.mat", ["x"])


def make_tar(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            member.size = 0 if member.type != tarfile.REGTYPE else 4
            tar.addfile(member, io.BytesIO(b"data") if member.size else None)
    return path


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


@pytest.mark.parametrize("name", ["../escaped", "/tmp/spdnorm-escaped", "a/../../escaped"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archives_stay_in_their_folder(tmp_path, name, kind):
    archive = tmp_path / f"bad.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w") as content:
            content.writestr("good", "data")
            content.writestr(name, "data")
    else:
        make_tar(archive, tarfile.TarInfo("good"), tarfile.TarInfo(name))
    with pytest.raises(CorruptDataError, match="would be written outside"):
        extract(archive, tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]
    assert not Path("/tmp/spdnorm-escaped").exists()


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    archive = make_tar(tmp_path / "bad.tar.gz", link("door", ".."), tarfile.TarInfo("door/escaped"))
    with pytest.raises(CorruptDataError, match="cannot be unpacked"):
        extract(archive, tmp_path / "target")
    assert [path.name for path in tmp_path.iterdir()] == [archive.name]


def test_good_archives_are_unpacked_each_to_its_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as content:
        content.writestr("folder/one.npy", "data")
        content.writestr("__MACOSX/folder/._one.npy", "a Mac's double, and no data")
    make_tar(tmp_path / "b.tar.gz", tarfile.TarInfo("other/two.NPY"))
    expected = [tmp_path / "a" / "folder" / "one.npy", tmp_path / "b" / "other" / "two.NPY"]
    assert unpacked_files(tmp_path, ".npy") == expected
    assert [path.read_text() for path in expected] == ["data", "data"]
    # What is there is not unpacked again, and needs no archive; an archive that came later, or was not reached, is.
    (tmp_path / "a.zip").unlink()
    assert unpacked_files(tmp_path, ".npy") == expected
    make_tar(tmp_path / "c.tar", tarfile.TarInfo("three.npy"))
    assert unpacked_files(tmp_path, ".npy") == [*expected, tmp_path / "c" / "three.npy"]
    # Files that were placed by hand stand for their archive.
    by_hand = tmp_path / "placed" / "files" / "x.npy"
    by_hand.parent.mkdir(parents=True)
    by_hand.write_text("")
    make_tar(tmp_path / "placed" / "release.tar", tarfile.TarInfo("x.npy"))
    assert unpacked_files(tmp_path / "placed", ".npy") == [by_hand]
    with pytest.raises(StorageError, match=r"b\.tar\.gz unpacks to .*b, which exists"):
        extract(tmp_path / "b.tar.gz", tmp_path / "b")


def test_a_killed_unpacking_leaves_nothing_that_passes_for_data(tmp_path):
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as content:
        for k in range(4000):
            content.writestr(f"files/{k}.npy", b"x" * 4096)
    program = (
        "import sys; from pathlib import Path; from spdnorm.datasets.archive import unpacked_files\n"
        "unpacked_files(Path(sys.argv[1]), '.npy')"
    )
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    begun = tmp_path / ".release.unpacking" / "files" / "50.npy"
    deadline = time.monotonic() + 60
    while not begun.exists():
        assert child.poll() is None, "it was over before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.001)
    child.kill()
    child.wait()
    assert files_below(tmp_path, ".npy") == []
    assert not (tmp_path / "release").exists()
    assert len(unpacked_files(tmp_path, ".npy")) == 4000
    assert not (tmp_path / ".release.unpacking").exists()


def test_archives_damaged_at_random_are_named_and_leave_nothing(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as content:
        for k in range(5):
            content.writestr(f"files/{k}.npy", rng.bytes(60))
    whole = path.read_bytes()
    failures = 0
    for _ in range(300):
        damaged = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            shutil.rmtree(extract(path, tmp_path / "target"))
        except CorruptDataError:
            failures += 1
        assert [left.name for left in tmp_path.iterdir()] == ["data.zip"]
    assert failures > 200


def test_archives_that_are_none(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 but no more")
    with pytest.raises(CorruptDataError, match=r"not a \.zip or .tar archive"):
        extract(tmp_path / "a.zip", tmp_path / "target")
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_STORED) as content:
        content.writestr("file", "data" * 100)
    damaged = bytearray((tmp_path / "b.zip").read_bytes())
    damaged[50] ^= 255
    (tmp_path / "b.zip").write_bytes(damaged)
    with pytest.raises(CorruptDataError, match="damaged"):
        extract(tmp_path / "b.zip", tmp_path / "target")
    make_tar(tmp_path / "c.tar.gz", *(tarfile.TarInfo(str(k)) for k in range(50)))
    whole = (tmp_path / "c.tar.gz").read_bytes()
    (tmp_path / "c.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CorruptDataError, match=r"c\.tar\.gz .*damaged"):
        extract(tmp_path / "c.tar.gz", tmp_path / "target")
    assert not (tmp_path / "target").exists()
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(MissingDataError, match=r"holds neither \.npy files nor an archive of them"):
        unpacked_files(empty, ".npy")


@pytest.mark.parametrize("kind", ["npz", "compressed.npz", "npy", "mat"])
def test_files_damaged_at_random_are_named(tmp_path, kind):
    rng = np.random.default_rng(len(kind))
    path = tmp_path / f"arrays.{kind}"
    x = rng.normal(size=(4, 4))
    if kind == "npy":
        np.save(path, x)
    elif kind == "mat":
        savemat(path, {"x": x}, do_compression=True)
    else:
        (np.savez_compressed if "compressed" in kind else np.savez)(path, x=x)
    read = {"npy": read_npy, "mat": lambda p: read_mat(p, ["x"])}.get(kind, lambda p: read_npz(p, ["x"]))
    whole = path.read_bytes()
    messages = []
    for _ in range(200):
        content = bytearray(whole)
        for at in rng.integers(len(whole), size=3):
            content[at] = rng.integers(256)
        path.write_bytes(content)
        try:
            read(path)
        except CorruptDataError as error:
            messages.append(str(error))
    assert len(messages) > 50
    assert all(path.name in message for message in messages)


def test_what_may_not_be_read_is_no_damage(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(1))
    (tmp_path / "x.npy").chmod(0)
    program = (
        "import sys; from pathlib import Path; from spdnorm.datasets.files import read_npy, sha256_of\n"
        f"{GIVE_UP_RIGHTS}\nglobals()[sys.argv[2]](Path(sys.argv[1]))"
    )
    for reader in (read_npy, sha256_of):
        command = [sys.executable, "-c", program, str(tmp_path / "x.npy"), reader.__name__]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert "StorageError" in done.stderr, done.stderr
        assert "may not be read by this user" in done.stderr
