"""The paper's claim about gradient responses, on real EEG: Oz stands out with every method, 0.25 to 0.60 s do not."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from spdnorm.experiments import Execution, Store
from spdnorm.figures import figure_config, shares_of_run, train_run


@pytest.fixture(scope="module")
def shares(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> pd.DataFrame:
    """Of subject 11, a row for each method and seed: means over the five classes."""
    store, execution = Store(tmp_path_factory.mktemp("claim")), Execution(data_dir=str(data_dir))
    rows = []
    for norm in ("gbw", "spd", "none"):
        for seed in (0, 1):
            config = figure_config(norm, subject=11, seed=seed, overrides={"train.epochs": 60})
            rows += shares_of_run(train_run(config, store=store, execution=execution))
    return pd.DataFrame(rows).groupby(["method", "seed"])[["channel", "rank", "window", "both", "even"]].mean()


@pytest.mark.slow
def test_oz_stands_out_with_every_method(shares: pd.DataFrame) -> None:
    assert len(shares) == 6
    # An even response has an eighth at each channel; first in all classes, and with a good margin.
    assert (shares["rank"] < 1.5).all()
    assert (shares["channel"] > 1.6 / 8).all()


@pytest.mark.slow
def test_no_method_prefers_the_stretch_of_time_by_much(shares: pd.DataFrame) -> None:
    # All lie a few points above an even share, GBWBN among them: nothing that another method lacks.
    excess = 100 * (shares["window"] - shares["even"])
    assert excess.abs().max() < 6
    by_method = excess.groupby("method").mean()
    assert abs(by_method["SPDNet-GBWBN"] - by_method["SPDNet-BN(m)"]) < 3
