from __future__ import annotations

import json
import subprocess
import sys

import pytest
from experiment_helpers import small_config

from spdnorm.experiments import ConfigError, RunConfig
from spdnorm.experiments.commands.options import parse_settings
from spdnorm.experiments.config import canonical


def test_hash_is_of_the_content_not_of_its_spelling() -> None:
    config = small_config()
    tree = config.model_dump(mode="json")
    assert RunConfig.model_validate(dict(reversed(tree.items()))).hash == config.hash
    assert config.with_values({"model.norm_options.theta": 1}).hash == config.hash
    assert config.with_values({"optim.lr": 0.5}).hash != config.hash
    assert config.with_values({"seed": 1}).hash != config.hash
    assert RunConfig.model_validate(json.loads(json.dumps(tree))) == config


def test_hash_is_the_same_in_another_process() -> None:
    config = small_config()
    code = "import sys, json; from spdnorm.experiments import RunConfig; print(RunConfig(**json.load(sys.stdin)).hash)"
    text = json.dumps(config.model_dump(mode="json"))
    found = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == config.hash


def test_hash_of_a_fixed_configuration_is_pinned() -> None:
    # It names folders that users keep: a default that changes, or a field that is added, must raise SCHEMA_VERSION
    # (or be left out of the canonical form at its default), never move rows silently.
    config = RunConfig.model_validate({"data": {"name": "mamem"}, "model": {"name": "eegspdnet", "norm": "gbw"}})
    assert config.hash == "e4e7332dbb2ad897"
    assert '"schema":1' in canonical(config)


def test_configurations_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        small_config().seed = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"optim.lr": -1}, r"optim\.lr.*greater than 0"),
        ({"train.epoch": 3}, r"train\.epoch.*not permitted"),
        ({"train.epochs": "many"}, r"train\.epochs.*integer"),
        ({"seed.x": 1}, "seed.*nothing can be set below it"),
        ({"data.split": {"by": "groups", "folds": 3, "fold": 3}}, "counted from 0"),
        ({"train.precision": "bf16-mixed"}, "float32"),
    ],
)
def test_what_does_not_fit_is_named(values: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        small_config().with_values(values)


def test_settings_of_the_command_line() -> None:
    found = parse_settings(
        [
            "model.norm=gbw",
            "optim.lr=1e-2",
            "model.options.dims=[15, 12]",
            "train.gradient_clip=null",
            "x=none",
            "y=a b",
        ]
    )
    assert found == {
        "model.norm": "gbw",
        "optim.lr": 0.01,
        "model.options.dims": [15, 12],
        "train.gradient_clip": None,
        "x": "none",
        "y": "a b",
    }
    with pytest.raises(ConfigError, match="KEY=VALUE"):
        parse_settings(["optim.lr"])
