"""Options of training: each does what it says, and what is trained does not notice those of evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import experiment_helpers
import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from test_loop import trainer_of
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from spdnorm.datasets.types import SignalDataset
from spdnorm.experiments import ConfigError, Execution, RunConfig, SplitConfig, Store
from spdnorm.experiments import checkpoint as files
from spdnorm.experiments.batched import run_batch, why_not
from spdnorm.experiments.checkpoint import load_checkpoint, save_checkpoint
from spdnorm.experiments.data import load_task
from spdnorm.experiments.readings import readings
from spdnorm.experiments.run import make_trainer, run
from spdnorm.experiments.splits import split
from spdnorm.experiments.trainer import Trainer
from spdnorm.geometry import LogEuclidean
from spdnorm.linalg import expm, symmetrize
from spdnorm.models import SPDNet
from spdnorm.nn import GBWBatchNorm


def small_config(**values: Any) -> RunConfig:
    """One layer with GBWBN."""
    return experiment_helpers.small_config(**{"model__options": {"hidden": [8]}, **values})


EMA = {"train__statistics": "refit", "train__average": {"name": "ema", "decay": 0.9}}
EQUAL = {"train__statistics": "refit", "train__average": {"name": "equal", "start": 0.25}}


def gbw(trainer: Trainer) -> GBWBatchNorm:
    (layer,) = (m for m in trainer.module.modules() if isinstance(m, GBWBatchNorm))
    return layer


def weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: parameter.detach().clone() for name, parameter in module.named_parameters()}


def signals_config(**values: Any) -> RunConfig:
    changes = {key.replace("__", "."): value for key, value in values.items()}
    tree = {
        "data": {
            "name": "ssvep-simulated",
            "options": {"n_subjects": 1, "n_sessions": 3, "trials_per_class": 4},
            "split": {"by": "sessions"},
        },
        "model": {"name": "eegspdnet", "norm": "gbw", "options": {"spatial_filters": 4, "dims": [4, 3]}},
        "train": {"epochs": 2, "batch_size": 8},
    }
    return RunConfig.model_validate(tree).with_values(changes)


# -- which samples, and which epoch -------------------------------------------------------------------------------


def sessions_of_two_subjects() -> SignalDataset:
    session = np.tile(np.repeat([1, 2, 3, 4, 5], 4), 2)
    part = np.array(["", "train", "train", "train", "validation", "test"])[session]
    return SignalDataset(
        name="toy",
        x=np.zeros((40, 2, 8)),
        y=np.tile([0, 1], 20),
        class_names=("a", "b"),
        metadata={"subject": np.repeat([1, 2], 20), "session": session, "split": part},
        licence="",
        citation="",
        sampling_rate=1.0,
        channel_names=("c", "d"),
    )


def test_the_inner_split_never_touches_the_test_part() -> None:
    data = sessions_of_two_subjects()
    session = data.column("session")
    parts = split(data, SplitConfig(by="inner"))
    assert [sorted(set(session[part])) for part in (parts.train, parts.validation, parts.test)] == [[1, 2], [3], [4]]
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [16, 8, 8]


def test_the_inner_split_needs_two_sessions_to_train_on() -> None:
    data = sessions_of_two_subjects()
    data.metadata["split"][data.column("session") < 3] = "none"
    with pytest.raises(ConfigError, match="subject 1 trains on one session only"):
        split(data, SplitConfig(by="inner"))


ROWS = [
    {"epoch": 1, "validation_loss": 0.5, "validation_accuracy": 0.7},
    {"epoch": 2, "validation_loss": 0.6, "validation_accuracy": 0.9},
    {"epoch": 3, "validation_loss": 0.55, "validation_accuracy": 0.9},
    {"epoch": 4, "validation_loss": 0.9, "validation_accuracy": 0.8},
]


@pytest.mark.parametrize(("select", "chosen"), [("loss", 1), ("accuracy", 3), ("last", 4)])
def test_the_epoch_is_chosen_as_configured(select: str, chosen: int) -> None:
    trainer = trainer_of(small_config(train__select=select, train__epochs=4))
    for row in ROWS:
        trainer._remember(int(row["epoch"]), row)
        trainer.history.append(row)
    assert trainer.chosen_epoch == chosen


def test_a_reading_says_how_its_epoch_was_chosen() -> None:
    history = [{**row, "test_loss": 1.0, "test_accuracy": 0.5, "validation_batch_accuracy": 0.8} for row in ROWS]
    texts = {}
    for select, chosen in (("loss", 1), ("accuracy", 3), ("last", 4)):
        reading = readings(history, chosen_epoch=chosen, stopped_early=False, select=select)["paper"]
        texts[select] = reading["epoch"], reading["selection"]
    assert texts == {
        "loss": (1, "smallest validation loss"),
        "accuracy": (3, "largest validation accuracy"),
        "last": (4, "last epoch"),
    }


@pytest.mark.parametrize("select", ["accuracy", "last"])
def test_runs_and_batches_choose_alike(tmp_path: Path, select: str) -> None:
    values = {"train__select": select, "data__split": {"by": "half", "validation": 0.3}, "train__epochs": 2}
    configs = [small_config(**values, train__label_smoothing=0.1, seed=seed) for seed in (0, 1)]
    alone, together = Store(tmp_path / "alone"), Store(tmp_path / "together")
    run_batch(configs, store=together)
    for config in configs:
        found = run(config, store=alone)["readings"]["paper"]
        other = together.run(config).result()["readings"]["paper"]
        assert (found["epoch"], found["accuracy"]) == (other["epoch"], other["accuracy"])
        assert select != "last" or found["epoch"] == 2


# -- what is evaluated --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [{"train__statistics": "refit"}, EMA, EQUAL], ids=["refit", "ema", "equal"])
def test_training_does_not_notice_what_is_evaluated(values: dict[str, Any]) -> None:
    plain, other = trainer_of(small_config()), trainer_of(small_config(**values))
    for _ in range(2):
        plain.run_epoch(), other.run_epoch()
    assert all(torch.equal(a, b) for a, b in zip(plain.module.parameters(), other.module.parameters(), strict=True))
    assert torch.equal(plain.order.get_state(), other.order.get_state())


def test_refit_statistics_are_those_of_the_training_part() -> None:
    trainer = trainer_of(small_config(train__statistics="refit"))
    trainer.run_epoch()
    seen: list[Tensor] = []
    twin = trainer.evaluated.module
    layer = next(m for m in twin.modules() if isinstance(m, GBWBatchNorm))
    layer.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        twin.eval()(trainer.task.train.x)
    exact = layer.exact_statistics(seen[0])
    torch.testing.assert_close(layer.running_mean, exact.mean)
    torch.testing.assert_close(layer.running_var, exact.variance)
    assert not torch.allclose(gbw(trainer).running_mean, exact.mean, rtol=1e-3)


def test_euclidean_statistics_are_refitted_too() -> None:
    config = signals_config(train__statistics="refit")
    trainer = make_trainer(
        config, load_task(config.data, data_dir=None, dtype=torch.float64), Fabric(accelerator="cpu", devices=1)
    )
    trainer.run_epoch()
    front = trainer.evaluated.module.front_end
    x = trainer.task.train.x.to(front.spatial.weight.dtype)
    maps = front.spatial(x.unsqueeze(1))
    torch.testing.assert_close(front.spatial_norm.running_mean, maps.mean((0, 2, 3)), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(front.spatial_norm.running_var, maps.var((0, 2, 3)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("values", [EMA, EQUAL], ids=["ema", "equal"])
def test_averages_are_of_free_coordinates_and_keep_every_constraint(values: dict[str, Any]) -> None:
    trainer = trainer_of(small_config(**values, optim__lr=0.05, train__epochs=4))
    decay, expected, taken = 0.9, None, 0

    def take() -> None:
        nonlocal expected, taken
        now = weights(trainer.module)
        taken += 1
        share = 1 - decay if values is EMA else 1 / taken
        expected = now if taken == 1 else {k: expected[k] + share * (now[k] - expected[k]) for k in now}

    if values is EMA:
        trainer.raw_optimizer.register_step_post_hook(lambda *_: take())
    for epoch in range(1, 5):
        trainer.run_epoch()
        if values is EQUAL and epoch > 1:
            take()
    found = weights(trainer.evaluated.module)
    assert taken == (3 if values is EQUAL else 4 * -(-len(trainer.task.train) // 30))
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value)
    block = trainer.evaluated.module.blocks[0]
    w, layer = block.bimap.weight, block.norm
    torch.testing.assert_close(w @ w.mT, torch.eye(w.shape[0], dtype=w.dtype))
    mean_of_logarithms = expected["blocks.0.norm.parametrizations.metric.original"]
    torch.testing.assert_close(layer.metric, expm(symmetrize(mean_of_logarithms)))
    assert not torch.allclose(layer.metric, gbw(trainer).metric, rtol=1e-4)


def test_manifold_parameters_are_not_averaged() -> None:
    values = {"model__options": {"hidden": [6], "parametrized": False}, "optim__name": "sgd"}
    with pytest.raises(ConfigError, match="parametrized=true"):
        trainer_of(small_config(**EMA, **values))


@pytest.mark.parametrize("values", [EMA, EQUAL], ids=["ema", "equal"])
def test_a_continued_average_ends_in_the_same_bits(tmp_path: Path, values: dict[str, Any]) -> None:
    class Stop(Exception):
        pass

    def stop(folder: object, row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise Stop

    config = small_config(**values, train__epochs=4)
    whole, broken = Store(tmp_path / "whole"), Store(tmp_path / "broken")
    run(config, store=whole)
    with pytest.raises(Stop):
        run(config, store=broken, execution=Execution(), on_epoch=stop)
    run(config, store=broken)
    a, b = (load_checkpoint(s.run(config).model_file, config_hash=config.hash) for s in (whole, broken))
    assert a is not None
    assert b is not None
    for which in ("selected", "last"):
        assert all(torch.equal(value, b[which][key]) for key, value in a[which].items())
    left, right = (s.run(config).result()["readings"] for s in (whole, broken))
    assert left == right


def test_a_checkpoint_from_before_averages_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config(data__split={"by": "half", "validation": 0.3})
    one, other = trainer_of(config), trainer_of(config)
    one.run_epoch()
    state = one.state_dict()
    state.pop("evaluated")
    state["best"] = {"epoch": 1, "loss": one.best["score"][0], "model": one.best["model"]}
    with monkeypatch.context() as patch:
        patch.setattr(files, "FORMAT", 1)
        save_checkpoint(tmp_path / "c.pt", state, config_hash="x")
    other.load_state_dict(load_checkpoint(tmp_path / "c.pt", config_hash="x"))
    assert other.best["score"] == one.best["score"]
    left, right = one.run_epoch(), other.run_epoch()
    assert {k: v for k, v in left.items() if "second" not in k} == {k: v for k, v in right.items() if "second" not in k}


# -- what is trained ----------------------------------------------------------------------------------------------


def test_smoothed_labels_are_what_is_trained_on_and_not_what_is_evaluated() -> None:
    trainer = trainer_of(small_config(train__label_smoothing=0.3, train__batch_size=1000, optim__lr=1e-30))
    part = trainer.task.train
    logits = trainer.module.train()(part.x).detach()
    row = trainer._train()
    assert row["train_loss"] == pytest.approx(cross_entropy(logits, part.y, label_smoothing=0.3).item())
    assert row["train_loss"] != pytest.approx(cross_entropy(logits, part.y).item(), rel=1e-3)
    x, y = trainer.task.test.x, trainer.task.test.y
    with torch.no_grad():
        plain = cross_entropy(trainer.module.eval()(x), y).item()
    assert trainer._evaluate("test", trainer.task.test)["test_loss"] == pytest.approx(plain)


def test_frozen_parameters_stay_and_the_others_move() -> None:
    trainer = trainer_of(small_config(train__freeze=["*.bimap.*"]))
    before = weights(trainer.module)
    trainer.run_epoch()
    moved = {name: not torch.equal(value, before[name]) for name, value in weights(trainer.module).items()}
    assert moved == {name: "bimap" not in name for name in before}
    with pytest.raises(ConfigError, match=r"'bimapp' matches no parameter; there are .*head\.weight"):
        trainer_of(small_config(train__freeze=["bimapp"]))


def test_crops_are_windows_of_the_signals_in_training_alone() -> None:
    config = signals_config(train__crop=0.75)
    task = load_task(config.data, data_dir=None, dtype=torch.float64)
    trainer = make_trainer(config, task, Fabric(accelerator="cpu", devices=1))
    seen: list[tuple[bool, Tensor]] = []
    trainer.module.register_forward_pre_hook(lambda module, inputs: seen.append((module.training, inputs[0].clone())))
    trainer.run_epoch()
    times = task.train.x.shape[-1]
    assert {(training, x.shape[-1]) for training, x in seen} == {(True, round(0.75 * times)), (False, times)}
    batch = next(x for training, x in seen if training)
    windows = task.train.x.unfold(-1, batch.shape[-1], 1)
    for sample in batch:
        assert (windows == sample.unsqueeze(-2)).all((1, 3)).any()
    with pytest.raises(ConfigError, match="samples are matrices"):
        trainer_of(small_config(train__crop=0.5))


@pytest.mark.parametrize("theta", [1.0, 0.5])
@pytest.mark.parametrize("channels", [None, 2])
def test_a_metric_at_the_barycentre_has_the_data_about_the_identity(theta: float, channels: int | None) -> None:
    draws = torch.randn(30, 2, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = 40 * expm(symmetrize(draws))
    x = x if channels else x[:, 0]
    layer = GBWBatchNorm(3, theta=theta, channels=channels, dtype=torch.float64)
    layer.start_metric(x)
    eye = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(layer.exact_statistics(x).mean, eye.expand_as(layer.metric), atol=1e-5, rtol=0)


def test_metrics_start_at_the_barycentre_of_what_reaches_them() -> None:
    plain = trainer_of(small_config())
    trainer = trainer_of(small_config(train__metric_start="barycentre"))
    eye = torch.eye(trainer.module.dims[-1], dtype=torch.float64)
    assert torch.equal(gbw(plain).metric, eye)
    inputs = trainer.module.blocks[0].bimap(trainer.task.train.x)
    torch.testing.assert_close(gbw(trainer).exact_statistics(inputs).mean, eye, atol=1e-5, rtol=0)
    # Nothing but the metric has moved, statistics and random state included.
    for (name, a), (_, b) in zip(plain.module.state_dict().items(), trainer.module.state_dict().items(), strict=True):
        assert ("metric" in name) != torch.equal(a, b), name
    with pytest.raises(ConfigError, match="no layer with a metric parameter"):
        trainer_of(small_config(train__metric_start="barycentre", model__norm="bw"))


def test_the_penalty_is_the_log_euclidean_distance_from_the_start_and_holds_the_metric_there() -> None:
    moved = []
    for weight in (1e-9, 10.0):
        trainer = trainer_of(small_config(train__metric_penalty=weight, train__metric_start="barycentre"))
        assert trainer.penalty is not None
        assert trainer.penalty().item() == pytest.approx(0.0, abs=1e-12)
        start = gbw(trainer).metric.detach().clone()
        trainer.run_epoch()
        distance = LogEuclidean().squared_distance(start, gbw(trainer).metric.detach()).item()
        assert trainer.penalty().item() == pytest.approx(weight * distance, rel=1e-6)
        moved.append(distance)
    assert moved[1] < 0.2 * moved[0]


def test_dropout_is_of_training_alone() -> None:
    torch.manual_seed(0)
    model = SPDNet((4, 3), 2, dropout=0.5, dtype=torch.float64)
    x = expm(symmetrize(torch.randn(5, 4, 4, dtype=torch.float64)))
    assert not torch.equal(model.train()(x), model(x))
    assert torch.equal(model.eval()(x), model(x))


def test_every_layer_may_have_a_power_of_its_own() -> None:
    options = [{"theta": 0.5}, {"theta": 1.0, "learn_theta": True}]
    trainer = trainer_of(small_config(model__options={"hidden": [8, 4]}, model__norm_options=options))
    layers = [m for m in trainer.module.modules() if isinstance(m, GBWBatchNorm)]
    assert [float(layer.theta) for layer in layers] == [0.5, 1.0]
    trainer.run_epoch()
    assert float(layers[0].theta) == 0.5
    assert float(layers[1].theta) != 1.0


# -- as a configuration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"train__average": {"name": "ema"}}, "train.statistics=refit"),
        ({"train__select": "last", "train__early_stopping": 3}, "counts from the best epoch"),
    ],
)
def test_options_that_contradict_each_other_are_errors(values: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        small_config(**values)


def test_what_a_batch_cannot_do_says_why() -> None:
    assert why_not(small_config(train__label_smoothing=0.1, train__freeze=["*.bimap.*"])) is None
    assert "statistics" in (why_not(small_config(**EMA)) or "")
    assert "metric_penalty" in (why_not(small_config(train__metric_penalty=0.1)) or "")
    assert "crop" in (why_not(small_config(train__crop=0.5)) or "")
