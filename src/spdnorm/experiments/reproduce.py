"""A table from its recipe: choose what can be run here, run it, report it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import datasets
from ..datasets.errors import DatasetError
from .config import canonical
from .data import load_dataset
from .errors import ExperimentError
from .execution import Execution
from .grid import Failure, run_grid
from .recipe import Entry, Recipe
from .report import write_report
from .store import Store
from .table import Table, load_tables, save_table

__all__ = ["Outcome", "missing_data", "reproduce"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a table."""

    table: Table
    failures: list[Failure]
    skipped: dict[str, str] = field(default_factory=dict)
    report: list[Path] = field(default_factory=list)


def reproduce(
    recipe: Recipe,
    *,
    store: Store,
    execution: Execution | None = None,
    quick: bool = False,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    replicates: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    batched: bool = False,
) -> Outcome:
    """Run a table's grid, or the part of it that was asked for, and write its report.

    Parameters
    ----------
    recipe : Recipe
        The table.
    store : Store
        The results folder; what it holds already is not run again.
    quick : bool
        The recipe's quick form.
    rows, columns : sequence of str
        Keys; all where empty. Runs whose data are not at hand are left out and their data sets named in the
        outcome, unless rows or columns were asked for: then that is an error.
    replicates : int, optional
        The first so many seeds or folds only.
    overrides : mapping
        Dotted configuration keys; the table is then kept apart from the recipe's own.
    execution, jobs, scheduler, batched
        As in :func:`~.grid.run_grid`.
    """
    execution = execution or Execution()
    overrides = dict(overrides or {})
    entries = recipe.entries(
        quick=quick, rows=tuple(rows), columns=tuple(columns), replicates=replicates, overrides=overrides
    )
    skipped = _not_at_hand(entries, execution.data_dir)
    if skipped and (rows or columns):
        raise ExperimentError("; ".join(skipped.values()))
    entries = [entry for entry in entries if entry.config.data.name not in skipped]
    if not entries:
        raise ExperimentError(f"nothing of {recipe.name!r} can be run: " + "; ".join(skipped.values()))
    table = save_table(store, recipe, entries, quick=quick, overrides=overrides, left_out=skipped)
    configs = [entry.config for entry in entries]
    failures = run_grid(
        configs,
        store=store,
        execution=execution,
        jobs=jobs,
        scheduler=scheduler,
        batched=batched,
        title=table.name,
    )
    (done,) = (other for other in load_tables(store, [table.name]) if other.name == table.name)
    report = write_report([done], store.report / table.name, title="spdnorm: results")
    return Outcome(table=done, failures=failures, skipped=skipped, report=report)


def _not_at_hand(entries: Sequence[Entry], data_dir: str | None) -> dict[str, str]:
    """Return what to do about each data set that cannot be had here.

    What can be downloaded is, once and here, so that no two workers fetch it and no network is one message.
    """
    messages: dict[str, str] = {}
    for data in {canonical(entry.config.data): entry.config.data for entry in entries}.values():
        if data.name in messages:
            continue
        message = missing_data(data.name, data_dir)
        if message is None and datasets.info(data.name).fetchable:
            try:
                load_dataset(data.name, data_dir, data.options)
            except DatasetError as error:
                message = str(error)
        if message is not None:
            messages[data.name] = message
    return messages


def missing_data(name: str, data_dir: str | None) -> str | None:
    """Return what to do about a data set that is not at hand and cannot be downloaded, or None."""
    entry = datasets.info(name)
    root = datasets.data_root(data_dir)
    if not entry.folder or entry.fetchable or name.startswith("moabb:") or (root / entry.folder).is_dir():
        return None
    return f"the data set {name!r} is not in {root}. {entry.instructions}".strip()
