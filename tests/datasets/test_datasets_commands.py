"""``spdnorm data``, in a process of its own as a user runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from spdnorm.datasets.skeleton_writer import random_bodies, write_skeleton


def run(*arguments: str, code: str = "from spdnorm.cli import main; main()", **environment: str):
    command = [sys.executable, "-c", code, *arguments]
    variables = {key: value for key, value in os.environ.items() if key != "SPDNORM_DATA"}
    variables |= {"COLUMNS": "200", "NO_COLOR": "1"} | environment
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


def test_info_of_mamem(data_dir):
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
    damped = run("data", "info", "mamem", "--lambda", "1", "--data-dir", str(data_dir))
    assert float(dict(re.findall(r"(\d+)% *│ *8 *│ *([\d.e+]+)", damped.stdout))["50"]) < 200


@pytest.mark.parametrize("name", ["japanese-vowels", "spd-simulated", "ssvep-simulated"])
def test_info_of_what_needs_no_files(name):
    done = run("data", "info", name)
    assert done.returncode == 0, done.stderr
    assert "condition number > 1e+03" in done.stdout


def test_list_says_what_is_here(tmp_path):
    (tmp_path / "mamem").mkdir()
    (tmp_path / "mamem" / "U001.mat").write_text("")
    done = run("data", "list", "--data-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert re.search(r"mamem +│ signals +│ 1 of 11 +│ fetch", done.stdout)
    assert re.search(r"japanese-vowels +│ signals +│ built in", done.stdout)
    assert str(tmp_path) in done.stdout


def test_verify(data_dir, tmp_path):
    done = run("data", "verify", "mamem", "--data-dir", str(data_dir))
    assert done.returncode == 0
    assert done.stdout.count("ok ") == 11
    (tmp_path / "cmu_mocap").mkdir()
    (tmp_path / "cmu_mocap" / "cov.npz").write_bytes(b"damaged")
    done = run("data", "verify", "cmu-mocap", "--data-dir", str(tmp_path))
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
def test_errors_are_one_line_and_a_status(tmp_path, arguments, message):
    done = run("data", *arguments, "--data-dir", str(tmp_path / "absent"))
    assert done.returncode == 1
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_corrupt_file_is_named_on_the_command_line(tmp_path):
    (tmp_path / "ssvep_exoskeleton").mkdir()
    np.savez(tmp_path / "ssvep_exoskeleton" / "epochs.npz", x=np.zeros(3))
    done = run("data", "info", "ssvep-exoskeleton", "--data-dir", str(tmp_path))
    assert done.returncode == 1
    assert "epochs.npz lacks the arrays" in done.stderr


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


def test_commands_on_what_needs_nothing():
    for command in ("fetch", "verify"):
        done = run("data", command, "basic-motions")
        assert (done.returncode, done.stdout) == (0, "basic-motions needs no files.\n")
    assert "needs no preparation" in run("data", "prepare", "mamem").stdout


def test_prepare_of_ntu(tmp_path):
    folder = tmp_path / "ntu"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for k in range(40):
        write_skeleton(folder / f"S001C001P001R001A{k + 1:03d}.skeleton", 30, random_bodies(rng, 30))
    done = run("data", "prepare", "ntu", "--workers", "2", "--data-dir", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"ok {folder / 'converted'}\n"
    done = run("data", "info", "ntu", "--data-dir", str(tmp_path))
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
