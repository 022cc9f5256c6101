"""What was saved by this version, and by those before, loads and computes the same; what cannot be loaded says why."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.state.makers import FIXTURES, MODULES, inputs, trained
from torch import nn

import spdnorm.models
import spdnorm.nn
from spdnorm.experiments import CheckpointError
from spdnorm.experiments import checkpoint as files
from spdnorm.experiments.checkpoint import load_checkpoint, save_checkpoint
from spdnorm.models import SPDNet
from spdnorm.nn import BiMap, GBWBatchNorm, norm_layer, norm_names
from spdnorm.nn.versioned import VersionedState

STORED = sorted(FIXTURES.glob("*/*.pt"))


@pytest.mark.parametrize("file", STORED, ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_stored_checkpoints_load_and_compute_the_same(file):
    stored = torch.load(file, weights_only=True)
    torch.manual_seed(99)
    module = MODULES[file.stem]().eval()
    with torch.no_grad():
        if file.stem != "domain":
            assert not torch.allclose(module(*inputs(file.stem)), stored["output"]), "the fixture is a fresh module"
        module.load_state_dict(stored["state"])
        torch.testing.assert_close(module(*inputs(file.stem)), stored["output"], rtol=1e-9, atol=1e-10)


def test_everything_with_state_is_stored():
    assert {file.stem for file in STORED} == set(MODULES)
    made = {type(make()).__name__ for make in MODULES.values()}
    assert {type(norm_layer(name, 2)).__name__ for name in norm_names() if name != "none"} <= made
    everything = {type(m) for make in MODULES.values() for m in make().modules()}
    # torch gives a parametrised module a class of its own, below that of the library.
    everything |= {ancestor for kind in everything for ancestor in kind.__mro__}
    for room in (spdnorm.nn, spdnorm.models):
        public = [getattr(room, name) for name in room.__all__]
        layers = {kind for kind in public if isinstance(kind, type) and issubclass(kind, nn.Module)}
        stateless = {spdnorm.nn.ReEig, spdnorm.nn.LogEig, spdnorm.nn.Covariance}
        assert layers - stateless <= everything
        # A block is a tuple of versioned modules and a rectification.
        assert all(issubclass(kind, VersionedState) for kind in layers - stateless - {spdnorm.models.SPDBlock})
    assert sum(file.stat().st_size for file in STORED) < 500_000


def test_versions_travel_with_the_state_and_through_files(tmp_path):
    net = trained("spdnet")
    torch.save(net.state_dict(), tmp_path / "net.pt")
    state = torch.load(tmp_path / "net.pt", weights_only=True)
    assert state._metadata["blocks.0.norm"]["version"] == GBWBatchNorm._version


def test_earlier_layouts_are_migrated_and_later_ones_refused(monkeypatch):
    old = GBWBatchNorm(3, dtype=torch.float64)
    with torch.no_grad():
        old.scale.fill_(0.7)
    state = old.state_dict()

    class Renamed(GBWBatchNorm):
        _version = 3
        migrations = {  # noqa: RUF012
            1: lambda state, prefix: state.update({f"{prefix}size": state.pop(f"{prefix}scale")}),
            2: lambda state, prefix: state.update({f"{prefix}scale": state.pop(f"{prefix}size") ** 2}),
        }

    new = Renamed(3, dtype=torch.float64)
    net = nn.Sequential(new)
    nested = {f"0.{key}": value for key, value in state.items()}
    from collections import OrderedDict

    nested = OrderedDict(nested)
    nested._metadata = OrderedDict({"": {}, "0": {"version": 1}})  # type: ignore[attr-defined]
    net.load_state_dict(nested)
    assert new.scale.item() == pytest.approx(0.49)
    later = Renamed(3, dtype=torch.float64).state_dict()
    with pytest.raises(RuntimeError, match=r"later version of spdnorm .*layout 3, known up to 2"):
        GBWBatchNorm(3, dtype=torch.float64).load_state_dict(later)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: SPDNet((3, 2), 2, norm="spd", dtype=torch.float64), "Unexpected key"),
        (lambda: SPDNet((3, 3), 2, norm="gbw", dtype=torch.float64), "size mismatch for blocks"),
        (lambda: SPDNet((3, 2), 5, norm="gbw", dtype=torch.float64), "size mismatch for head"),
        (lambda: SPDNet((3, 2, 2), 2, norm="gbw", dtype=torch.float64), "Missing key"),
        (lambda: BiMap(3, 2), "Missing key"),
    ],
)
def test_another_architecture_is_an_error_that_names_what_differs(make, said):
    with pytest.raises(RuntimeError, match=said):
        make().load_state_dict(trained("spdnet").state_dict())


class Evil:
    """Leaves a mark if it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.mark),)


def foreign(kind: str, path: Path) -> None:
    state = {"format": 1, "config": "mine", "model": {"w": torch.ones(50)}}
    buffer = io.BytesIO()
    torch.save(state, buffer)
    whole = buffer.getvalue()
    if kind == "another archive":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", "hello")
        return
    if kind == "code":
        torch.save({**state, "evil": Evil(path.parent / "mark")}, path)
        return
    path.write_bytes(
        {
            "empty": b"",
            "truncated": whole[: len(whole) // 2],
            "head only": whole[:30],
            "tail only": whole[30:],
            "text": b"not a checkpoint",
            "a pickle": pickle.dumps({"evil": Evil(path.parent / "mark")}),
            "a bit": whole[:60] + bytes([whole[60] ^ 255]) + whole[61:],
        }[kind]
    )


@pytest.mark.parametrize(
    "kind", ["empty", "truncated", "head only", "tail only", "text", "a pickle", "code", "another archive"]
)
def test_damaged_and_foreign_files_are_errors_and_run_nothing(tmp_path, kind):
    path = tmp_path / "checkpoint.pt"
    foreign(kind, path)
    with pytest.raises(CheckpointError, match="remove it to start the run over"):
        load_checkpoint(path, config_hash="mine")
    assert not (tmp_path / "mark").exists()


def test_a_checkpoint_of_an_earlier_format_is_migrated(tmp_path, monkeypatch):
    path = tmp_path / "checkpoint.pt"
    save_checkpoint(path, {"weights": torch.ones(2)}, config_hash="mine")
    now = files.FORMAT
    monkeypatch.setattr(files, "FORMAT", now + 1)
    with pytest.raises(CheckpointError, match=f"format {now}"):
        load_checkpoint(path, config_hash="mine")
    monkeypatch.setitem(files.MIGRATIONS, now, lambda state: {**state, "model": state["weights"] * 2})
    assert load_checkpoint(path, config_hash="mine")["model"].tolist() == [2.0, 2.0]
    monkeypatch.setattr(files, "FORMAT", now - 1)
    with pytest.raises(CheckpointError, match=f"format {now}"):
        load_checkpoint(path, config_hash="mine")


def test_nothing_is_unpickled_from_a_path_anywhere():
    """Every ``torch.load`` of the package says ``weights_only=True``; no other reader of pickles is called."""
    source = Path(spdnorm.__file__).parent
    for file in source.rglob("*.py"):
        if "testing" in file.parts:
            continue
        text = file.read_text()
        for call in text.split("torch.load(")[1:]:
            assert "weights_only=True" in call.split(")")[0], file
        for reader in ("pickle.load", "joblib.load", "allow_pickle=True", "yaml.load", "read_pickle", "shelve"):
            assert reader not in text, (file, reader)
