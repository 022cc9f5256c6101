"""Many networks as one program: what each ends as, and how fast."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from experiment_helpers import small_config
from test_runs import numbers

from spdnorm.experiments import Execution, RunConfig, Store
from spdnorm.experiments.batched import batches, groups_of, run_batch, why_not
from spdnorm.experiments.checkpoint import save_checkpoint
from spdnorm.experiments.files import read_json
from spdnorm.experiments.grid import run_grid
from spdnorm.experiments.run import run

NORMS = ("none", "gbw", "bw", "spd", "spdm", "manifold", "lie")


def configs_of(norm: str, *, seeds: int, epochs: int) -> list[RunConfig]:
    tree = small_config(train__epochs=epochs).model_dump(mode="json")
    tree["model"] |= {"norm": norm, "norm_options": {}}
    tree["optim"]["schedule"]["name"] = "cosine"
    return [
        RunConfig.model_validate({**tree, "seed": s, "data": {**tree["data"], "split": {"fold": s, "validation": 0.2}}})
        for s in range(seeds)
    ]


def assert_close(one: dict, other: dict) -> None:
    for which in ("selected", "last"):
        for key, value in one["weights"][which].items():
            torch.testing.assert_close(other["weights"][which][key], value, rtol=1e-6, atol=1e-6)
    for a, b in zip(one["rows"], other["rows"], strict=True):
        assert a.keys() == b.keys()
        for key in a:
            assert (a[key] == "") == (b[key] == ""), key
            if a[key]:
                assert float(b[key]) == pytest.approx(float(a[key]), rel=1e-6, abs=1e-6), key
    assert one["result"]["readings"].keys() == other["result"]["readings"].keys()
    for protocol, reading in one["result"]["readings"].items():
        found = other["result"]["readings"][protocol]
        assert found.pop("loss") == pytest.approx(reading.pop("loss"), rel=1e-6)
        assert found == reading


@pytest.mark.parametrize("norm", NORMS)
def test_each_network_ends_as_it_would_alone(tmp_path: Path, norm: str) -> None:
    configs = configs_of(norm, seeds=3, epochs=3)
    alone, together = Store(tmp_path / "alone"), Store(tmp_path / "together")
    for config in configs:
        run(config, store=alone)
    assert batches(configs, store=together, size=2) == [configs[:2]]
    run_batch(configs, store=together)
    for config in configs:
        assert_close(numbers(alone.run(config)), numbers(together.run(config)))
        assert run(config, store=together) == together.run(config).result()
    assert batches(configs, store=together, size=3) == []


def test_gradient_clipping_is_each_networks_own(tmp_path: Path) -> None:
    configs = [config.with_values({"train.gradient_clip": 0.05}) for config in configs_of("gbw", seeds=2, epochs=2)]
    alone, together = Store(tmp_path / "alone"), Store(tmp_path / "together")
    for config in configs:
        run(config, store=alone)
    run_batch(configs, store=together)
    for config in configs:
        assert_close(numbers(alone.run(config)), numbers(together.run(config)))


def test_each_network_of_a_batch_has_its_own_tensorboard(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    configs, store = configs_of("none", seeds=2, epochs=2), Store(tmp_path)
    run_batch(configs, store=store, execution=Execution(tensorboard=True))
    for config in configs:
        events = EventAccumulator(str(store.run(config).path / "tensorboard"))
        events.Reload()
        shown = [event.value for event in events.Scalars("train/loss")]
        assert shown == pytest.approx([float(row["train_loss"]) for row in numbers(store.run(config))["rows"]])


def test_a_batch_continues_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configs = configs_of("gbw", seeds=2, epochs=5)
    whole, broken = Store(tmp_path / "whole"), Store(tmp_path / "broken")
    run_batch(configs, store=whole)
    saved = []

    def stop(path: Path, state: dict, *, config_hash: str) -> None:
        save_checkpoint(path, state, config_hash=config_hash)
        saved.append(path)
        if len(saved) == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("spdnorm.experiments.batched.save_checkpoint", stop)
        with pytest.raises(KeyboardInterrupt):
            run_batch(configs, store=broken)
    assert saved[0].exists()
    run_batch(configs, store=broken)
    for config in configs:
        one, other = numbers(whole.run(config)), numbers(broken.run(config))
        assert one["rows"] == other["rows"]
        assert all(torch.equal(value, other["weights"]["last"][key]) for key, value in one["weights"]["last"].items())
    assert not saved[0].exists()


def test_what_cannot_be_batched_says_why() -> None:
    for values in (
        {"train__early_stopping": 3},
        {"optim__schedule.name": "plateau"},
        {"optim__name": "adam"},
        {"train__condition_epochs": [1]},
    ):
        config = small_config(**values)
        assert why_not(config)
        assert groups_of([config, config.with_values({"seed": 5})]) == []


def test_a_grid_batches_what_it_can_and_runs_the_rest_alone(store: Store) -> None:
    alike = configs_of("none", seeds=2, epochs=2)
    # Equal but for what they take of the data, which differs in size: these look like a batch and are none.
    whole = small_config(train__epochs=1, data__split={"by": "half", "validation": 0.2})
    unlike = [whole, whole.with_values({"data.where": {"split": "train"}})]
    assert [len(batch) for batch in batches([*alike, *unlike], store=store, size=4)] == [2, 2]
    assert run_grid([*alike, *unlike], store=store, jobs=1, batched=True) == []
    engines = [read_json(store.run(config).environment_file)["engine"] for config in (*alike, *unlike)]
    assert engines == ["batched, 2 networks"] * 2 + ["single"] * 2
