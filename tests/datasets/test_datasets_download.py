"""Downloads against a real server on the loopback."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pty
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dataset_makers import GIVE_UP_RIGHTS

from spdnorm.datasets import (
    ChecksumError,
    DownloadError,
    MissingDataError,
    RemoteFile,
    StorageError,
    fetch,
    info,
    verify,
)
from spdnorm.datasets.download import fetch_file
from spdnorm.datasets.files import require_files

FETCH_IMPORTS = (
    "import sys; from pathlib import Path; from spdnorm.datasets.registry import RemoteFile\n"
    "from spdnorm.datasets.download import fetch_file"
)
FETCH_CALL = "fetch_file(RemoteFile(name='data.bin', sha256=sys.argv[1], url=sys.argv[2]), Path(sys.argv[3]))"
FETCH = f"{FETCH_IMPORTS}\n{FETCH_CALL}"

BODY = np.random.default_rng(0).bytes(3_000_000)


def remote(url: str, body: bytes = BODY) -> RemoteFile:
    return RemoteFile(name="data.bin", sha256=hashlib.sha256(body).hexdigest(), url=url)


def leftovers(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {".lock"}


def part_of(folder: Path) -> Path:
    """What an interrupted transfer has left to resume from."""
    staging = folder / ".data.bin.part"
    staging.mkdir(exist_ok=True)
    return staging / "part"


def test_a_file_arrives_whole_and_is_not_fetched_twice(server, tmp_path):
    server.files["data.bin"] = BODY
    file = remote(server.url("data.bin"))
    assert fetch_file(file, tmp_path / "new" / "folder").read_bytes() == BODY
    fetch_file(file, tmp_path / "new" / "folder")
    assert server.requests == [None]
    assert leftovers(tmp_path / "new" / "folder") == {"data.bin"}


def test_a_terminal_sees_a_progress_bar(server, tmp_path):
    server.files["data.bin"] = BODY
    file = remote(server.url("data.bin"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-c", FETCH, file.sha256, file.url, str(tmp_path)]
    with subprocess.Popen(command, stderr=theirs) as child:
        assert child.wait() == 0
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "data.bin: 100%" in shown
    assert "3.00M/3.00M" in shown
    assert "%" not in subprocess.run(command, capture_output=True, text=True, check=True).stderr


def test_an_interrupted_transfer_resumes(server, tmp_path):
    server.files["data.bin"] = BODY
    server.stop_after = 1_000_000
    file = remote(server.url("data.bin"))
    with pytest.raises(DownloadError, match="resumes"):
        fetch_file(file, tmp_path)
    assert leftovers(tmp_path) == {".data.bin.part"}
    kept = part_of(tmp_path).stat().st_size
    assert 900_000 < kept <= 1_000_000
    assert fetch_file(file, tmp_path).read_bytes() == BODY
    assert server.requests == [None, f"bytes={kept}-"]
    assert leftovers(tmp_path) == {"data.bin"}


def test_a_server_without_ranges_is_started_over(server, tmp_path):
    server.files["data.bin"] = BODY
    server.ranges = False
    part_of(tmp_path).write_bytes(b"x" * 1000)
    assert fetch_file(remote(server.url("data.bin")), tmp_path).read_bytes() == BODY


@pytest.mark.parametrize("wrong_range", [False, True])
def test_a_part_that_does_not_fit_is_thrown_away(server, tmp_path, wrong_range):
    server.files["data.bin"] = BODY
    server.wrong_range = wrong_range
    # A part of another version (same start offset, other bytes), or one longer than the file.
    part_of(tmp_path).write_bytes(b"x" * (1000 if wrong_range else len(BODY) + 5))
    assert fetch_file(remote(server.url("data.bin")), tmp_path).read_bytes() == BODY


def test_a_resumed_part_of_another_version_is_fetched_again(server, tmp_path):
    server.files["data.bin"] = BODY
    part_of(tmp_path).write_bytes(b"x" * 1000)
    assert fetch_file(remote(server.url("data.bin")), tmp_path).read_bytes() == BODY
    assert server.requests == ["bytes=1000-", None]


def test_a_checksum_mismatch_leaves_nothing(server, tmp_path):
    server.files["data.bin"] = b"something else"
    with pytest.raises(ChecksumError, match="SHA-256"):
        fetch_file(remote(server.url("data.bin")), tmp_path)
    assert leftovers(tmp_path) == set()


def test_not_found(server, tmp_path):
    with pytest.raises(DownloadError, match="HTTP 404"):
        fetch_file(remote(server.url("data.bin")), tmp_path)
    assert leftovers(tmp_path) == set()


def test_no_network(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DownloadError, match=r"could not download .*refused.*check the network"):
        fetch_file(remote(f"http://127.0.0.1:{port}/data.bin"), tmp_path)


def test_a_killed_process_leaves_nothing_that_passes_for_data(server, tmp_path):
    server.files["data.bin"] = BODY
    server.delay = 0.05
    file = remote(server.url("data.bin"))
    child = subprocess.Popen([sys.executable, "-c", FETCH, file.sha256, file.url, str(tmp_path)])
    part = part_of(tmp_path)
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size > 300_000):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert not (tmp_path / "data.bin").exists()
    kept = part.stat().st_size
    assert 0 < kept < len(BODY)
    assert leftovers(tmp_path) == {".data.bin.part"}
    with pytest.raises(MissingDataError, match=r"1 of 1 files are missing"):
        require_files(tmp_path, ["data.bin"], title="T", instructions="")
    server.delay = 0.0
    assert fetch_file(file, tmp_path).read_bytes() == BODY
    assert server.requests[-1] == f"bytes={kept}-"
    assert leftovers(tmp_path) == {"data.bin"}


def test_two_processes_at_once_download_once(server, tmp_path):
    server.files["data.bin"] = BODY
    file = remote(server.url("data.bin"))
    command = [sys.executable, "-c", FETCH, file.sha256, file.url, str(tmp_path)]
    children = [subprocess.Popen(command) for _ in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    assert server.requests == [None]


def test_fetch_of_a_data_set_takes_what_is_missing(server, tmp_path):
    entry = info("mamem")
    files = []
    for name in ("U001.mat", "U002.mat"):
        server.files[name] = name.encode()
        files.append(RemoteFile(name=name, sha256=hashlib.sha256(name.encode()).hexdigest(), url=server.url(name)))
    entry = replace(entry, files=tuple(files))
    fetch(entry, tmp_path, only=["U002.mat"])
    assert leftovers(tmp_path / "mamem") == {"U002.mat"}
    with pytest.raises(MissingDataError, match=r"1 of 2 files are missing .*U001\.mat"):
        verify(entry, tmp_path)
    assert [path.name for path in fetch(entry, tmp_path)] == ["U001.mat", "U002.mat"]
    assert len(server.requests) == 2
    verify(entry, tmp_path)
    (tmp_path / "mamem" / "U001.mat").write_bytes(b"damaged")
    with pytest.raises(ChecksumError, match=r"U001\.mat has SHA-256"):
        verify(entry, tmp_path)


def test_a_data_set_placed_by_hand_says_so(tmp_path):
    with pytest.raises(MissingDataError, match=r"cannot be downloaded .*place it or its files"):
        fetch(info("hdm05"), tmp_path)


def test_a_file_where_the_folder_should_be(server, tmp_path):
    server.files["data.bin"] = BODY
    (tmp_path / "occupied").write_text("a file")
    with pytest.raises(StorageError, match=r"cannot write .*choose a data directory"):
        fetch_file(remote(server.url("data.bin")), tmp_path / "occupied" / "below")


def test_what_is_there_needs_no_write_permission(server, tmp_path):
    (tmp_path / "data.bin").write_bytes(BODY)
    tmp_path.chmod(0o555)
    file = remote(server.url("data.bin"))
    assert fetch_file(file, tmp_path) == tmp_path / "data.bin"
    tmp_path.chmod(0o755)
    assert server.requests == []
    assert leftovers(tmp_path) == {"data.bin"}
    # A file of another content is replaced.
    (tmp_path / "data.bin").write_bytes(b"old")
    server.files["data.bin"] = BODY
    assert fetch_file(file, tmp_path).read_bytes() == BODY


def run_limited(setup: str, file: RemoteFile, folder: Path) -> subprocess.CompletedProcess[str]:
    """Fetch in a process that first limits itself."""
    program = f"import os, resource, requests, pooch, tqdm\n{FETCH_IMPORTS}\n{setup}\n{FETCH_CALL}"
    command = [sys.executable, "-c", program, file.sha256, file.url, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_no_write_permission(server, tmp_path):
    server.files["data.bin"] = BODY
    tmp_path.chmod(0o555)
    done = run_limited(GIVE_UP_RIGHTS, remote(server.url("data.bin")), tmp_path)
    tmp_path.chmod(0o755)
    assert done.returncode == 1
    assert f"StorageError: cannot write {tmp_path / 'data.bin'}" in done.stderr
    assert server.requests == []
    assert list(tmp_path.iterdir()) == []


def test_disk_full(server, tmp_path):
    server.files["data.bin"] = BODY
    # A file size limit makes the kernel refuse the write in the middle, as a full disk does.
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, 500_000))"
    done = run_limited(limit, remote(server.url("data.bin")), tmp_path)
    assert done.returncode == 1
    assert "StorageError: no space left to write" in done.stderr
    assert leftovers(tmp_path) <= {".data.bin.part"}
