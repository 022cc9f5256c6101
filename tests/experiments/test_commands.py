"""The command line: what it prints, what it leaves behind, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spdnorm.cli import main
from spdnorm.experiments import Store, load_recipe, load_tables, recipe_names
from spdnorm.experiments.checkpoint import load_checkpoint

QUICK = ("--set", "train.epochs=1", "--jobs", "1")


def spdnorm(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Run the command line; return its exit status, standard output and standard error."""
    try:
        main([str(argument) for argument in arguments])
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    said = capsys.readouterr()
    return status, said.out, said.err


def test_list_and_plan(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = spdnorm(capsys, "reproduce", "--list")
    assert status == 0
    assert all(name in out for name in recipe_names())
    status, out, _ = spdnorm(capsys, "reproduce", "mamem_acc", "--plan")
    assert status == 0
    lines = [line.split("\t") for line in out.splitlines()]
    assert len(lines) == 13 * 11 * 5
    assert {line[0] for line in lines} == {entry.config.hash for entry in load_recipe("mamem_acc").entries()}


def test_train_prints_both_protocols_and_is_quiet_off_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ("train", "demo:gbwbn", "--set", "train.epochs=2", "--results", tmp_path)
    status, out, err = spdnorm(capsys, *command)
    assert status == 0
    assert "protocol paper: accuracy" in out
    assert "on the test part" in out
    assert "protocol released: accuracy" in out
    assert "averaged over batches" in out
    assert err.splitlines() == [f"results in {next((tmp_path / 'runs').iterdir())}"]
    # Done once, read after.
    assert spdnorm(capsys, *command)[1] == out
    status, _, err = spdnorm(capsys, *command, "--seed", "3", "--progress", "on")
    assert status == 0
    assert "samples/s" in err


def test_reproduce_then_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = spdnorm(capsys, "reproduce", "demo", "--quick", "--row", "spdnet", *QUICK, "--results", tmp_path)
    assert (status, err) == (0, "")
    assert "SPDNet" in out
    assert "What to run next" in out
    (table,) = load_tables(Store(tmp_path))
    page = tmp_path / "report" / table.name / "report.html"
    assert f"report: {page}" in out
    assert page.is_file()
    status, out, _ = spdnorm(capsys, "report", "demo", "--results", tmp_path, "--out", tmp_path / "mine")
    assert status == 0
    files = {path.name for path in (tmp_path / "mine").iterdir()}
    assert files == {"report.html", "report.md", f"{table.name}.tex", f"{table.name}.csv"}


def test_data_that_are_not_at_hand_are_reported_and_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    common = ("reproduce", "bwm_comparison", "--quick", "--data-dir", tmp_path / "empty", "--results", tmp_path)
    small = (
        "--set",
        'data={name="spd-simulated", options={n_samples=60, n_features=6, n_classes=3}, split={by="half"}}',
    )
    small = (*small, "--set", "model.options.hidden=[4]", *QUICK)
    # The quick form's columns are all replaced by the simulated set but for what needs a file.
    status, out, err = spdnorm(capsys, *common, *small)
    assert (status, err) == (0, "")
    assert "Not run" not in out

    tiny = tmp_path / "tiny.toml"
    tiny.write_text(
        'include = ["bwm_comparison"]\nname = "tiny"\ntitle = "Tiny"\n'
        '[quick]\ncolumns = ["hdm05", "simulated"]\n'
        "[quick.column_set.simulated]\nmodel = { options = { hidden = [4] } }\n"
        "data = { options = { n_samples = 60, n_features = 6, n_classes = 3 } }\n"
    )
    rest = ("--quick", "--data-dir", tmp_path / "empty", "--results", tmp_path, *QUICK)
    status, out, err = spdnorm(capsys, "reproduce", tiny, *rest)
    assert status == 0
    assert "left out: the data set 'hdm05' is not in" in err
    assert "spdnorm data prepare hdm05" in err
    assert "Not run, since the data are not at hand: hdm05." in out
    # Asked for by name it is an error.
    status, _, err = spdnorm(capsys, "reproduce", tiny, *rest, "--column", "hdm05")
    assert status == 1
    assert err.startswith("error: the data set 'hdm05'")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("reproduce", "nothing"), "no recipe is named 'nothing'; there are bwm_comparison"),
        (("reproduce", "demo", "--row", "x"), "has no row 'x'; it has spdnet, spdbn, liebn, gbwbn"),
        (("reproduce", "demo", "--set", "train.epoch=1"), "train.epoch: Extra inputs are not permitted"),
        (("reproduce", "demo", "--set", "train.epochs"), "write KEY=VALUE"),
        (("reproduce", "demo", "--scheduler", "tcp://127.0.0.1:1"), "no Dask scheduler answers"),
        (("train", "demo:gbwbn:x"), "has no column 'x'"),
        (("train", "demo", "--set", "model.norm=layer"), "layer"),
        (("train", "demo", "--devices", "2"), "torchrun --nproc-per-node 2"),
        (("train", "demo", "--accelerator", "abacus"), "Available names are: auto"),
        (("train", "demo", "--progress", "maybe"), "choose auto, on or off"),
        (("report",), "holds no table yet"),
        (("report", "mamem_acc"), "has no table 'mamem_acc'"),
    ],
)
def test_errors_say_what_to_do_and_leave_a_status(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spdnorm.experiments.grid.CONNECT_SECONDS", 1)
    status, out, err = spdnorm(capsys, *arguments)
    assert status == 1
    assert said in err
    assert err.startswith("error: ")
    assert "Traceback" not in err
    assert out == ""


def test_failed_runs_are_told_once_and_the_status_is_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    wrong = ("--set", "model.options.hidden=[99]")
    rest = ("--quick", "--row", "spdnet", "--row", "gbwbn", *QUICK, "--results", tmp_path)
    status, _, err = spdnorm(capsys, "reproduce", "demo", *wrong, *rest)
    assert status == 1
    assert err.count("failed: ") == 1
    assert "failed: 2 run(s)" in err


def test_interrupted_by_hand(tmp_path: Path) -> None:
    arguments = ["reproduce", "demo", "--row", "gbwbn", "--replicates", "2", "--jobs", "2", "--results", str(tmp_path)]
    command = [sys.executable, "-m", "spdnorm", *arguments, "--set", "train.epochs=5000"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    entries = load_recipe("demo").entries(rows=("gbwbn",), replicates=2, overrides={"train.epochs": 5000})
    folders = [Store(tmp_path).run(entry.config) for entry in entries]
    end = time.monotonic() + 120
    while not all(folder.checkpoint_file.exists() for folder in folders) and time.monotonic() < end:
        time.sleep(0.01)
    # As Ctrl-C does: to every process of the terminal's group.
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    assert "stopped; the same command continues from the last epoch" in err
    assert "Traceback" not in err
    assert out == ""
    # The locks went with the processes, and what was done is there.
    for entry, folder in zip(entries, folders, strict=True):
        with folder.locked():
            state = load_checkpoint(folder.checkpoint_file, config_hash=entry.config.hash)
        assert state is not None
        assert len(state["history"]) > 0
