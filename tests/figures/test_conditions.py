"""The recorder of condition numbers: right, without influence, and continued where a run is."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from spdnorm.cli import main
from spdnorm.experiments import ConfigError, Execution, RunConfig, Store, load_recipe
from spdnorm.experiments.condition_log import CONDITIONS_FILE, ConditionLog, ConditionRecorder
from spdnorm.experiments.run import run
from spdnorm.figures import Request, make_figure, open_run, train_run
from spdnorm.figures.errors import FigureError
from spdnorm.models import SPDNet
from spdnorm.testing import spd_matrices


def _config(norm: str = "gbw", epochs: int = 3) -> RunConfig:
    config = load_recipe("demo").entries(rows=("spdnet",), replicates=1)[0].config
    return config.with_values({"model.norm": norm, "train.epochs": epochs})


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_counts_and_quantiles_are_those_of_numpy() -> None:
    torch.manual_seed(0)
    model = SPDNet((5, 4, 3), 2, norm="gbw", dtype=torch.float64)
    x = torch.cat([spd_matrices(5, 20, condition=10.0**k, seed=k) for k in range(1, 8)])
    seen: list[torch.Tensor] = []
    handles = [b.norm.register_forward_hook(lambda m, i, o: seen.extend((i[0], o))) for b in model.blocks]
    with ConditionRecorder(model, every=1) as recorder:
        model(x)
    rows = recorder.rows()
    assert [(row["place"], row["side"]) for row in rows] == [
        (f"blocks.{k}.norm", side) for k in (0, 1) for side in ("before", "after")
    ]
    for row, matrices in zip(rows, seen, strict=True):
        kappa = np.linalg.cond(matrices.detach().numpy())
        for threshold, key in ((1e3, "above_1e3"), (1e4, "above_1e4"), (1e5, "above_1e5")):
            assert row[key] == int((kappa > threshold).sum())
        assert row["median"] == pytest.approx(np.median(kappa), rel=1e-6)
        assert row["upper_quartile"] == pytest.approx(np.quantile(kappa, 0.75), rel=1e-6)
    assert rows[0]["above_1e3"] > 0
    # Closed: nothing more is seen; and what was read is not read again.
    model(x)
    assert recorder.rows() == []
    for handle in handles:
        handle.remove()


def test_one_batch_in_so_many_and_training_alone() -> None:
    model = SPDNet((4, 3), 2, norm="spd", dtype=torch.float64)
    x = spd_matrices(4, 6)
    with ConditionRecorder(model, every=3) as recorder:
        for _ in range(7):
            model(x)
        model.eval()
        model(x)
    assert {row["samples"] for row in recorder.rows()} == {3 * 6}


def test_places_of_ones_own_and_none() -> None:
    model = torch.nn.Sequential(torch.nn.Identity())
    with pytest.raises(ConfigError, match="Sequential"):
        ConditionRecorder(model)
    with ConditionRecorder(model, places={"mine": model[0]}) as recorder:
        model(torch.diag_embed(torch.tensor([[1.0, 0.0], [2.0, 1.0]])))
    row = recorder.rows()[0]
    # Singular: above every threshold, and the largest number that there is.
    assert (row["place"], row["above_1e5"], row["minimum"]) == ("mine", 1, 2.0)
    assert row["maximum"] == torch.finfo(torch.float64).max


def test_recording_changes_nothing(tmp_path: Path) -> None:
    plain, watched = Store(tmp_path / "plain"), Store(tmp_path / "watched")
    run(_config(), store=plain)
    run(_config(), store=watched, logs=[partial(ConditionLog, every=1)])
    weights = [torch.load(store.run(_config()).model_file, weights_only=True)["last"] for store in (plain, watched)]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][key], weights[1][key]) for key in weights[0])


def test_a_continued_run_has_each_epoch_once(tmp_path: Path) -> None:
    store, config = Store(tmp_path / "a"), _config(epochs=4)

    class Stopped(Exception):
        pass

    def stop(folder: object, row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise Stopped

    with pytest.raises(Stopped):
        run(config, store=store, logs=[ConditionLog], on_epoch=stop)
    run(config, store=store, logs=[ConditionLog])
    through = Store(tmp_path / "b")
    run(config, store=through, logs=[ConditionLog])
    rows = _read(store.run(config).path / CONDITIONS_FILE)
    # Two blocks, before and after.
    assert [row["epoch"] for row in rows] == [str(epoch) for epoch in (1, 2, 3, 4) for _ in range(4)]
    assert rows == _read(through.run(config).path / CONDITIONS_FILE)


def test_tensorboard_has_what_the_file_has(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    store, config = Store(tmp_path), _config()
    # Both logs at once, as the command line has them: neither purges what the other has written.
    logs = [partial(ConditionLog, tensorboard=True)]
    run(config, store=store, execution=Execution(tensorboard=True), logs=logs)
    board = store.run(config).path / "tensorboard"
    assert [event.step for event in EventAccumulator(str(board)).Reload().Scalars("train/loss")] == [1, 2, 3]
    events = EventAccumulator(str(board / "conditions")).Reload()
    written = _read(store.run(config).path / CONDITIONS_FILE)
    rows = [row for row in written if (row["place"], row["side"]) == ("blocks.0.norm", "before")]
    found = events.Scalars("condition/blocks.0.norm/before/median")
    assert [event.step for event in found] == [1, 2, 3]
    np.testing.assert_allclose([event.value for event in found], [float(row["median"]) for row in rows], rtol=1e-6)


def test_the_figure_tells_without_before_and_after(tmp_path: Path) -> None:
    store, paths = Store(tmp_path), []
    for norm in ("none", "gbw"):
        config = _config(norm)
        run(config, store=store, logs=[ConditionLog])
        paths.append(store.run(config).path)
    _, drawn = make_figure("condition-numbers", Request(store=store, runs=tuple(paths)))
    assert drawn.data.groupby("features")["epoch"].nunique().to_dict() == {"after": 3, "before": 3, "without": 3}
    assert [text.get_text() for text in drawn.figure.legends[0].get_texts()] == [
        "without (SPDNet)",
        "before GBWBN",
        "after GBWBN",
    ]


def test_a_run_without_recording_says_what_to_do(tmp_path: Path) -> None:
    store, config = Store(tmp_path), _config(epochs=1)
    run(config, store=store)
    folder = store.run(config).path
    with pytest.raises(FigureError, match=r"leave --run out"):
        make_figure("condition-numbers", Request(store=store, runs=(folder,)))
    with pytest.raises(FigureError, match=r"spdnorm train"):
        open_run(folder, data_dir=None).need_epochs(3)
    with pytest.raises(FigureError, match=r"--results another folder"):
        train_run(config, store=store, execution=Execution())


def test_train_records_on_request(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as left:
        main(["train", "demo:gbwbn", "--quick", "--conditions", "--results", str(tmp_path), "--progress", "off"])
    assert left.value.code == 0
    (file,) = tmp_path.glob(f"runs/*/{CONDITIONS_FILE}")
    assert [row["epoch"] for row in _read(file)] == ["1"] * 4 + ["2"] * 4
