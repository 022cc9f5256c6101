"""Paired comparisons: numbers that can be checked by hand or by SciPy, on tables whose results the test writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from spdnorm.experiments import ExperimentError, Store, Table, load_recipe
from spdnorm.experiments.paired import compare, holm
from spdnorm.experiments.report import against
from spdnorm.experiments.table import Place

COLUMN = load_recipe("demo").columns[0].key


def table(accuracies: dict[str, np.ndarray]) -> Table:
    """Rows of the demo with these accuracies (replicates, members), NaN for runs that are not done."""
    recipe = load_recipe("demo")
    column = recipe.columns[0].key
    places, results = [], {}
    for row, values in accuracies.items():
        for (replicate, member), accuracy in np.ndenumerate(values):
            name = f"{row}-{replicate}-{member}"
            places.append(Place(row=row, column=column, replicate=replicate, member=member, hash=name))
            readings = {"paper": {"accuracy": float(accuracy)}}
            results[name] = None if np.isnan(accuracy) else {"readings": readings, "seconds_per_epoch": 1.0}
    return Table(
        name="demo",
        recipe=recipe,
        quick=False,
        overrides={},
        places=places,
        store=Store(Path("nowhere")),
        _results=results,
    )


def test_differences_are_over_members_and_the_test_is_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0.4, 0.8, (5, 11)), rng.uniform(0.3, 0.7, (5, 11))
    found = compare(table({"gbwbn": a, "spdnet": b}), "gbwbn", "spdnet", COLUMN, "paper")
    assert found is not None
    units = 100 * (a - b).mean(0)
    assert (found.members, found.replicates) == (11, 5)
    assert found.difference == pytest.approx(units.mean())
    assert found.low < found.difference < found.high
    assert found.p_value == pytest.approx(stats.wilcoxon(100 * a.mean(0), 100 * b.mean(0)).pvalue)
    ranks = stats.rankdata(abs(units))
    assert found.effect == pytest.approx((ranks[units > 0].sum() - ranks[units < 0].sum()) / ranks.sum())
    assert (found.wins, found.losses) == ((units > 0).sum(), (units < 0).sum())


def test_every_member_better_has_effect_one() -> None:
    a = np.full((2, 6), 0.5) + np.arange(6) / 100
    found = compare(table({"gbwbn": a, "spdnet": a - 0.1}), "gbwbn", "spdnet", COLUMN, "paper")
    assert found is not None
    assert (found.effect, found.wins, found.losses) == (1.0, 6, 0)
    assert found.difference == pytest.approx(10.0)
    assert found.p_value == pytest.approx(2 / 2**6)


def test_equal_rows_say_nothing() -> None:
    a = np.full((3, 4), 0.5)
    found = compare(table({"gbwbn": a, "spdnet": a}), "gbwbn", "spdnet", COLUMN, "paper")
    assert found is not None
    assert (found.difference, found.effect, found.p_value) == (0.0, 0.0, 1.0)


def test_one_member_is_paired_by_replicate() -> None:
    a = np.array([[0.5], [0.6], [0.7]])
    found = compare(table({"gbwbn": a, "spdnet": a - 0.2}), "gbwbn", "spdnet", COLUMN, "paper")
    assert found is not None
    assert (found.wins, found.members, found.replicates) == (3, 1, 3)


def test_only_whole_replicates_count() -> None:
    a, b = np.full((3, 4), 0.6), np.full((3, 4), 0.5)
    a[1, 2] = np.nan
    b[2] = 0.0
    rows = table({"gbwbn": a, "spdnet": b})
    found = compare(rows, "gbwbn", "spdnet", COLUMN, "paper")
    assert found is not None
    assert found.replicates == 2
    assert found.difference == pytest.approx(35.0)
    assert compare(rows, "gbwbn", "spdnet", COLUMN, "released") is None
    assert compare(rows, "gbwbn", "liebn", COLUMN, "paper") is None


def test_holm_is_monotone_and_never_below_the_raw_value() -> None:
    raw = [0.01, 0.04, 0.03, 0.2]
    assert holm(raw) == pytest.approx([0.04, 0.09, 0.09, 0.2])
    assert holm([]) == []


def test_the_grid_has_a_line_for_every_row_that_can_be_compared() -> None:
    rng = np.random.default_rng(0)
    rows = table({name: rng.uniform(0, 1, (2, 8)) for name in ("gbwbn", "spdnet", "liebn")})
    grid = against(rows, "gbwbn")
    assert grid is not None
    labels = {row.key: row.label for row in rows.recipe.rows}
    assert set(grid.labels) == {labels["spdnet"], labels["liebn"]}
    assert [name for _, name in grid.header] == ["difference", "95 % interval", "better : worse", "effect", "p"]
    with pytest.raises(ExperimentError, match="has no row 'gbw'; choose one of"):
        against(rows, "gbw")
    assert against(table({"gbwbn": np.ones((2, 2))}), "gbwbn") is None
