"""Classifiers without a network: pyRiemann's, on the networks' own samples."""

from __future__ import annotations

import pytest
import torch

from spdnorm.experiments import BASELINES, ConfigError, DataConfig, baseline_accuracies, load_recipe, make_baseline
from spdnorm.experiments.data import load_task

pytest.importorskip("pyriemann", reason="baselines need the extra `sklearn`")


def sessions(**changes: object) -> DataConfig:
    tree: dict[str, object] = {
        "name": "ssvep-simulated",
        "options": {"n_subjects": 1, "n_sessions": 3, "trials_per_class": 6, "session_drift": 2.0, "snr_db": 6.0},
        "bands": [[f - 0.8, f + 0.8] for f in (6.66, 7.5, 8.57, 10.0, 12.0)],
        "covariance": {"shrinkage": "oas", "ddof": 0},
        "split": {"by": "last-session"},
    }
    return DataConfig.model_validate(tree | changes)


@pytest.mark.parametrize("name", BASELINES)
def test_they_see_the_training_part_and_are_read_on_the_others(name: str) -> None:
    data = load_recipe("demo").entries(quick=True)[0].config.data
    task = load_task(data, data_dir=None, dtype=torch.float64)
    assert task.validation is not None
    classifier = make_baseline(name).fit(task.train.x.numpy(), task.train.y.numpy())
    found = baseline_accuracies(name, data)
    assert found == {
        "test": classifier.score(task.test.x.numpy(), task.test.y.numpy()),
        "validation": classifier.score(task.validation.x.numpy(), task.validation.y.numpy()),
    }
    assert found["test"] > 0.6


def test_recentring_makes_up_for_a_drift_between_sessions() -> None:
    plain = baseline_accuracies("ts-lr", sessions())["test"]
    by_part = baseline_accuracies("ts-lr", sessions(), recentred=True)["test"]
    by_session = baseline_accuracies("ts-lr", sessions(domain="session"), recentred=True)["test"]
    assert by_part > plain
    assert by_session > plain


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(ConfigError, match="there are mdm, fgmdm, ts-lr"):
        make_baseline("svm")
    with pytest.raises(ConfigError, match=r"data\.covariance is missing"):
        baseline_accuracies("mdm", sessions(covariance=None))
