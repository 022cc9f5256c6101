"""Where data lie, whole files or none, and archives that stay in their folder."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from spdnorm.datasets import CorruptDataError, MissingDataError, StorageError, data_root
from spdnorm.datasets.archive import extract, extract_all
from spdnorm.datasets.cache import atomic_file, dataset_folder, free_space, storage_errors
from spdnorm.datasets.files import read_mat, read_npy, read_npz, require_files


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
    assert "is a file, expected a folder" in look(tmp_path)


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
    assert list((tmp_path / "target").iterdir()) == []
    assert not (tmp_path / "escaped").exists()
    assert not Path("/tmp/spdnorm-escaped").exists()


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    archive = make_tar(tmp_path / "bad.tar.gz", link("door", ".."), tarfile.TarInfo("door/escaped"))
    with pytest.raises(CorruptDataError, match="cannot be unpacked"):
        extract(archive, tmp_path / "target")
    assert not (tmp_path / "escaped").exists()


def test_good_archives_are_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as content:
        content.writestr("folder/file", "data")
    make_tar(tmp_path / "b.tar.gz", tarfile.TarInfo("other/file"))
    extract_all(tmp_path, tmp_path / "target")
    assert (tmp_path / "target" / "folder" / "file").read_text() == "data"
    assert (tmp_path / "target" / "other" / "file").read_text() == "data"


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
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(MissingDataError, match="neither the files"):
        extract_all(empty, tmp_path / "target")
