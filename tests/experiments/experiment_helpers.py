"""Small real runs: nine speakers by 12 x 12 covariances, a second each."""

from __future__ import annotations

from typing import Any

from spdnorm.experiments import RunConfig, load_recipe


def small_config(**values: Any) -> RunConfig:
    """SPDNet with GBWBN on the bundled data, 3 epochs; ``train__epochs=5`` sets ``train.epochs``."""
    entries = load_recipe("demo").entries(rows=("gbwbn",), replicates=1)
    changes = {"train.epochs": 3, **{key.replace("__", "."): value for key, value in values.items()}}
    return entries[0].config.with_values(changes)
