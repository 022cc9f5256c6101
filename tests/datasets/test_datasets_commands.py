"""``spdnorm data``, in a process of its own as a user runs it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dataset_makers import GIVE_UP_RIGHTS, write_epochs_file

from spdnorm.cli import main
from spdnorm.datasets import DatasetInfo, RemoteFile, registry
from spdnorm.datasets.skeleton_writer import random_bodies, write_skeleton

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text()


def run(*arguments: str, code: str = "from spdnorm.cli import main; main()", **environment: str):
    command = [sys.executable, "-c", code, *arguments]
    variables = {key: value for key, value in os.environ.items() if key != "SPDNORM_DATA"}
    variables |= {"COLUMNS": "200", "NO_COLOR": "1"} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


@pytest.fixture
def call(capsys, monkeypatch):
    """Runs a command in this process, which spares the time to start another."""
    monkeypatch.delenv("SPDNORM_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def run_here(*arguments: str) -> subprocess.CompletedProcess[str]:
        with pytest.raises(SystemExit) as left:
            main(["data", *arguments])
        out, error = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, left.value.code or 0, out, error)

    return run_here


def test_info_of_mamem(data_dir, call):
    done = run("data", "info", "mamem", SPDNORM_DATA=str(data_dir))
    assert done.returncode == 0, done.stderr
    text = done.stdout
    assert "subject (11): 1: 500, 2: 500" in text
    assert "session (5): 1: 1100, 2: 1100, 3: 1100, 4: 1100, 5: 1100" in text
    assert "split (3): test: 1100, train: 3300, validation: 1100" in text
    assert "class (5): 6.66 Hz: 1100, 7.50 Hz: 1100, 8.57 Hz: 1320, 10.00 Hz: 1100, 12.00 Hz: 880" in text
    assert "ODC-BY" in text
    rows = dict(re.findall(r"(\d+)% *│ *8 *│ *([\d.e+]+)", text))
    assert list(rows) == ["0", "25", "50", "75", "100"]
    values = [float(value) for value in rows.values()]
    assert values == sorted(values)
    assert values[2] == pytest.approx(480, rel=0.01)
    # lambda lowers it: 1 added to eigenvalues whose median smallest is 0.26.
    damped = call("info", "mamem", "--lambda", "1", "--data-dir", str(data_dir))
    assert float(dict(re.findall(r"(\d+)% *│ *8 *│ *([\d.e+]+)", damped.stdout))["50"]) < 200


@pytest.mark.parametrize("name", ["japanese-vowels", "spd-simulated", "ssvep-simulated"])
def test_info_of_what_needs_no_files(name, call):
    done = call("info", name)
    assert done.returncode == 0, done.stderr
    assert "condition number > 1e+03" in done.stdout


def test_info_counts_rank_in_the_precision_of_the_data(data_dir, call):
    done = call("info", "hdm05-11class", "--data-dir", str(data_dir))
    ranks = [int(rank) for rank in re.findall(r"\d+% *│ *(\d+)", done.stdout)]
    (row,) = re.findall(r"`hdm05-11class` \| 288 \| 93 \| (\d+) / (\d+) / (\d+)", DOCUMENTED)
    assert [str(ranks[k]) for k in (0, 2, 4)] == list(row)


def test_list_says_what_is_here(tmp_path, call):
    (tmp_path / "mamem").mkdir()
    (tmp_path / "mamem" / "U001.mat").write_text("")
    done = call("list", "--data-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert re.search(r"mamem +│ signals +│ 1 of 11 +│ fetch", done.stdout)
    assert re.search(r"japanese-vowels +│ signals +│ built in", done.stdout)
    assert str(tmp_path) in done.stdout


def test_verify(data_dir, tmp_path, call):
    done = call("verify", "mamem", "--data-dir", str(data_dir))
    assert done.returncode == 0
    assert done.stdout.count("ok ") == 11
    (tmp_path / "cmu_mocap").mkdir()
    (tmp_path / "cmu_mocap" / "cov.npz").write_bytes(b"damaged")
    done = call("verify", "cmu-mocap", "--data-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"error: .*cov\.npz has SHA-256 \w+, recorded is \w+: .*\n", done.stderr)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nosuch"], "error: no data set is named 'nosuch'"),
        (["info", "mamem"], "error: MAMEM-SSVEP-II: the data directory"),
        (["fetch", "hdm05"], "error: HDM05, pre-processed covariances cannot be downloaded by this program"),
        (["verify", "ntu"], "error: no hashes are recorded for ntu"),
        (["prepare", "ntu"], "error: NTU RGB+D: the data directory"),
    ],
)
def test_errors_are_one_line_and_a_status(tmp_path, call, arguments, message):
    done = call(*arguments, "--data-dir", str(tmp_path / "absent"))
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def truncated(folder: Path) -> None:
    os.truncate(write_epochs_file(folder), 1000)


EXOSKELETON = "ssvep-exoskeleton", "ssvep_exoskeleton"


@pytest.mark.parametrize(
    ("names", "make", "message"),
    [
        (("mamem", "mamem"), lambda folder: (folder / "U001.mat").write_text(""), r"10 of 11 files are missing .*U002"),
        (EXOSKELETON, truncated, r"epochs\.npz \(1000 bytes\) cannot be read: it is truncated, corrupt"),
        (EXOSKELETON, lambda folder: (folder / "epochs.npz").write_bytes(b"?" * 99), r"epochs\.npz .*cannot be read"),
        (EXOSKELETON, lambda folder: np.savez(folder / "epochs.npz", x=0), r"epochs\.npz lacks the arrays"),
        (
            EXOSKELETON,
            lambda folder: write_epochs_file(folder, x=np.zeros((6, 3, 10))),
            r"epochs\.npz: x has shape \(6, 3, 10\)",
        ),
        (
            EXOSKELETON,
            lambda folder: write_epochs_file(folder, y=np.full(6, 2)),
            "labels out of range: sample 0 has label 2",
        ),
        (
            EXOSKELETON,
            lambda folder: write_epochs_file(folder, x=np.full((6, 2, 10), np.nan)),
            r"x: 120 non-finite values",
        ),
        (("ntu", "ntu"), lambda folder: (folder / "odd.skeleton").write_text(""), "holds no conversion; run"),
    ],
)
def test_each_error_of_reading_is_one_line_and_a_status(tmp_path, call, names, make, message):
    folder = tmp_path / names[1]
    folder.mkdir()
    make(folder)
    error = fails(call, "info", names[0], tmp_path)
    assert re.search(message, error)
    # The data set's own folder in place of its parent is told apart.
    assert f"give its parent, {tmp_path}, instead" in fails(call, "info", names[0], folder)


def fails(call, command: str, name: str, data_dir: Path) -> str:
    """Run a command that must fail and return its one line."""
    done = call(command, name, "--data-dir", str(data_dir))
    assert (done.returncode, done.stdout.count("ok ")) == (1, 0)
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_names_that_are_none_stop_a_conversion(tmp_path, call):
    for name, file in (("ntu", "odd.skeleton"), ("hdm05-raw", "odd.amc")):
        folder = tmp_path / name.replace("-", "_")
        folder.mkdir()
        (folder / file).write_text("")
        assert f"{file!r} is not a name of the form" in fails(call, "prepare", name, tmp_path)
    (tmp_path / "hdm05").mkdir()
    assert "holds neither .npy files nor an archive of them" in fails(call, "prepare", "hdm05", tmp_path)


def test_files_that_cannot_be_converted_are_an_error_after_the_others(tmp_path, call):
    folder = tmp_path / "ntu"
    folder.mkdir()
    names = [f"S001C001P001R001A{k:03d}.skeleton" for k in (1, 2, 3)]
    for name in names:
        write_skeleton(folder / name, 30, random_bodies(np.random.default_rng(0), 30))
    whole = (folder / names[1]).read_text()
    (folder / names[1]).write_text(whole[:500])
    error = fails(call, "prepare", "ntu", tmp_path)
    assert f"1 files could not be converted, the first {names[1]} (" in error
    assert "the file ends at line" in error
    assert "2 matrices 75x75" in call("info", "ntu", "--data-dir", str(tmp_path)).stdout
    (folder / names[1]).write_text(whole)
    (folder / names[0]).write_text("")  # converted already, and not read again
    assert call("prepare", "ntu", "--data-dir", str(tmp_path)).returncode == 0
    assert "3 matrices 75x75" in call("info", "ntu", "--data-dir", str(tmp_path)).stdout


def test_what_the_system_refuses_without_a_known_cause_is_one_line_too(tmp_path, call):
    assert "File name too long" in fails(call, "fetch", "mamem", tmp_path / ("a" * 300))


def local_set(url: str, body: bytes) -> DatasetInfo:
    file = RemoteFile(name="data.bin", sha256=hashlib.sha256(body).hexdigest(), url=url)
    text = {"title": "Local", "description": "made here", "licence": "none", "citation": ""}
    return DatasetInfo(name="local", kind="matrices", loader=lambda root: None, folder="local", files=(file,), **text)


def test_errors_of_fetching_are_one_line_and_a_status(server, tmp_path, call, monkeypatch):
    body = bytes(100_000)
    monkeypatch.setitem(registry._REGISTRY, "local", local_set(server.url("data.bin"), body))
    assert "(HTTP 404); check the network or the address" in fails(call, "fetch", "local", tmp_path)
    server.files["data.bin"] = b"other"
    assert "does not have the recorded SHA-256" in fails(call, "fetch", "local", tmp_path)
    server.files["data.bin"] = body
    server.stop_after = 70_000
    assert "the transfer resumes" in fails(call, "fetch", "local", tmp_path)
    assert "1 of 1 files are missing" in fails(call, "verify", "local", tmp_path)
    done = call("fetch", "local", "--data-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, f"ok {tmp_path / 'local' / 'data.bin'}\n")
    assert server.requests[-1] == "bytes=65536-"


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (GIVE_UP_RIGHTS, "cannot write"),
        # A file size limit makes the kernel refuse the write in the middle, as a full disk does.
        ("import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))", "no space left to write"),
    ],
)
def test_errors_of_the_disk_are_one_line_and_a_status(server, tmp_path, limit, message):
    server.files["data.bin"] = bytes(100_000)
    tmp_path.chmod(0o555 if "capset" in limit else 0o755)
    code = (
        "import os, sys; sys.path.insert(0, os.path.dirname(sys.argv.pop(1)))\n"
        "from spdnorm.cli import main; from spdnorm.datasets import names, register; names()\n"
        "from test_datasets_commands import local_set\n"
        f"register(local_set(sys.argv.pop(1), bytes(100_000)))\n{limit}\nmain()"
    )
    done = run(__file__, server.url("data.bin"), "data", "fetch", "local", "--data-dir", str(tmp_path), code=code)
    assert done.returncode == 1
    assert re.fullmatch(rf"error: {message} .*--data-dir or SPDNORM_DATA\n", done.stderr), done.stderr
    assert not list(tmp_path.rglob("data.bin"))


def test_fetch_without_a_network(tmp_path):
    # No name resolves: a proxy that nobody listens on.
    done = run(
        "data",
        "fetch",
        "mamem",
        "--data-dir",
        str(tmp_path),
        HTTPS_PROXY="http://127.0.0.1:9",
        NO_PROXY="",
        no_proxy="",
    )
    assert done.returncode == 1
    assert re.search(r"error: could not download https://raw\.githubusercontent\.com/.*check the network", done.stderr)
    assert not list((tmp_path / "mamem").glob("*.mat"))


def test_commands_on_what_needs_nothing(call):
    for command in ("fetch", "verify"):
        done = call(command, "basic-motions")
        assert (done.returncode, done.stdout) == (0, "basic-motions needs no files.\n")
    assert "needs no preparation" in call("prepare", "mamem").stdout


def test_prepare_of_ntu(tmp_path, call):
    folder = tmp_path / "ntu"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for k in range(40):
        write_skeleton(folder / f"S001C001P001R001A{k + 1:03d}.skeleton", 30, random_bodies(rng, 30))
    done = run("data", "prepare", "ntu", "--workers", "2", "--data-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"ok {folder / 'converted'}\n"
    done = call("info", "ntu", "--data-dir", str(tmp_path))
    assert "40 matrices 75x75" in done.stdout


def test_the_command_line_itself():
    assert run().stdout.startswith("usage: spdnorm COMMAND")
    assert re.fullmatch(r"spdnorm \d+\.\d+.*\n", run("--version").stdout)
    unknown = run("nosuch")
    assert unknown.returncode == 1
    assert unknown.stderr.startswith("error: there is no command 'nosuch'")
    module = subprocess.run(
        [sys.executable, "-m", "spdnorm", "data", "--help"], capture_output=True, text=True, check=False
    )
    assert module.returncode == 0
    assert all(name in module.stdout for name in ("list", "info", "fetch", "verify", "prepare"))


def test_a_missing_extra_is_named():
    without = "import sys; sys.modules['typer'] = None\nfrom spdnorm.cli import main; main()"
    done = run("data", "list", code=without)
    assert done.returncode == 1
    assert done.stderr == (
        "error: the command line needs the package 'typer'; install it with: pip install 'spdnorm[experiments]'\n"
    )


def test_the_entry_point_is_installed():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert 'spdnorm = "spdnorm.cli:main"' in text
