"""Splits by session, statistics by domain, and unlabelled adaptation of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from spdnorm.datasets import make_ssvep
from spdnorm.experiments import ConfigError, RunConfig, SplitConfig, Store
from spdnorm.experiments.adaptation import adapted
from spdnorm.experiments.batched import why_not
from spdnorm.experiments.data import load_task
from spdnorm.experiments.run import make_trainer, run
from spdnorm.experiments.splits import split
from spdnorm.experiments.trainer import Trainer
from spdnorm.nn import DomainBatchNorm

SIMULATED = {"n_subjects": 1, "n_sessions": 3, "trials_per_class": 4, "seed": 1}


def config(*, domain: str | None = "session", adapt: tuple[str, ...] = ("test",), norm: str = "gbw") -> RunConfig:
    return RunConfig.model_validate(
        {
            "data": {
                "name": "ssvep-simulated",
                "options": SIMULATED,
                "covariance": {"regularization": 1e-3},
                "split": {"by": "last-session", "validation": 0.25},
                "domain": domain,
            },
            "model": {"name": "spdnet", "norm": norm, "options": {"hidden": [4]}},
            "optim": {"lr": 1e-2},
            "train": {"epochs": 3, "batch_size": 16, "adapt": adapt, "test_every": 1},
        }
    )


def trainer_of(config: RunConfig) -> Trainer:
    task = load_task(config.data, data_dir=None, dtype=torch.float64)
    return make_trainer(config, task, Fabric(accelerator="cpu", devices=1))


def test_the_last_session_tests_and_all_before_train() -> None:
    data = make_ssvep(**SIMULATED)
    parts = split(data, SplitConfig(by="last-session", validation=0.25))
    sessions = data.column("session")
    assert set(sessions[parts.test]) == {sessions.max()}
    assert set(sessions[parts.train]) == set(sessions) - {sessions.max()}
    assert len(parts.validation) == (len(data) - len(parts.test)) / 4
    everything = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(everything) == list(range(len(data)))


def test_blocks_are_consecutive_within_session_and_class_and_test_every_sample_once() -> None:
    data = make_ssvep(**SIMULATED)
    sessions, tested = data.column("session"), []
    for fold in range(4):
        parts = split(data, SplitConfig(by="blocks", group="session", folds=4, fold=fold))
        tested.append(parts.test)
        assert not set(parts.test) & set(parts.train)
        for session in np.unique(sessions):
            for label in np.unique(data.y):
                cell = np.flatnonzero((sessions == session) & (data.y == label))
                places = np.flatnonzero(np.isin(cell, parts.test))
                assert len(places) == len(cell) / 4
                assert (np.diff(places) == 1).all()
    assert sorted(np.concatenate(tested)) == list(range(len(data)))


def test_every_session_gets_statistics_of_its_own() -> None:
    trainer = trainer_of(config())
    trainer.run_epoch()
    (layer,) = (m for m in trainer.module.modules() if isinstance(m, DomainBatchNorm))
    # The test session was adapted to and forgotten again: the network stays source-only.
    assert layer.num_domains == 3
    assert layer.seen == [0, 1]


@pytest.mark.parametrize("domain", [None, "session"])
def test_adaptation_takes_the_statistics_of_the_part_and_gives_them_back(domain: str | None) -> None:
    trainer = trainer_of(config(domain=domain))
    trainer._train()
    model, part = trainer.module.eval(), trainer.task.test
    before = {key: value.clone() for key, value in model.state_dict().items()}
    changed = torch.randn(8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    moved = type(part)(changed @ part.x @ changed.mT, part.y, part.domains)
    with adapted(model, part):
        means = [v.clone() for k, v in model.named_buffers() if k.endswith("running_mean")]
    with adapted(model, moved):
        other = [v.clone() for k, v in model.named_buffers() if k.endswith("running_mean")]
    assert not torch.allclose(means[0], other[0])
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


def test_adaptation_looks_at_no_label_and_moves_no_weight() -> None:
    plain, adapting = trainer_of(config(domain=None, adapt=())), trainer_of(config(domain=None))
    adapting.task.test.y.copy_(adapting.task.test.y.flip(0))
    for _ in range(2):
        plain.run_epoch(), adapting.run_epoch()
    mine, other = plain.module.state_dict(), adapting.module.state_dict()
    assert all(torch.equal(mine[key], other[key]) for key in mine)
    assert plain.history[-1]["test_loss"] != adapting.history[-1]["test_loss"]


def test_a_session_without_statistics_is_an_error_that_says_what_to_do(store: Store) -> None:
    with pytest.raises(ValueError, match="adapt"):
        run(config(adapt=()), store=store)


def test_a_domain_specific_run_is_stopped_and_continued_to_the_same_bits(tmp_path: Path) -> None:
    whole = run(config(), store=Store(tmp_path / "a"))
    stopped = Store(tmp_path / "b")

    def stop(folder: object, row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config(), store=stopped, on_epoch=stop)
    continued = run(config(), store=stopped)
    assert continued["readings"] == whole["readings"]
    assert why_not(config()) is not None


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"model.norm": "none"}, r"data\.domain is about the statistics"),
        ({"model.norm": "none", "data.domain": None}, r"train\.adapt is about the statistics"),
        ({"data.split": {"by": "blocks", "folds": 3, "fold": 3}}, "counted from 0"),
    ],
)
def test_what_makes_no_sense_is_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        config().with_values(values)


def test_what_the_data_lack_is_named() -> None:
    asked = config().data
    for change, said in (
        ({"domain": "planet"}, r"data\.domain: .*has no metadata column 'planet'"),
        ({"bands": ((5.0, 500.0),)}, r"data\.bands: band .* half the sampling rate"),
        ({"name": "japanese-vowels", "options": {}, "bands": ((1.0, 2.0),)}, r"data\.bands: "),
    ):
        with pytest.raises(ConfigError, match=said):
            load_task(asked.model_copy(update=change), data_dir=None, dtype=torch.float64)


def test_bands_stand_beside_one_another() -> None:
    asked = config().data.model_copy(update={"bands": ((6.0, 8.0), (11.0, 13.0)), "domain": None})
    task = load_task(asked, data_dir=None, dtype=torch.float64)
    assert task.sample_shape == (16, 16)


def test_new_keys_leave_the_name_of_older_runs_alone() -> None:
    plain = config(domain=None, adapt=())
    assert "domain" not in plain.model_dump(mode="json")["data"]
    assert "adapt" not in plain.model_dump(mode="json")["train"]
    assert len({plain.hash, config(adapt=()).hash, config(domain=None).hash, config().hash}) == 4
    assert RunConfig.model_validate(config().model_dump(mode="json")) == config()
