"""A table of runs: which runs it is made of, remembered in the results folder, and what they came to."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from .config import validate
from .errors import ExperimentError
from .files import read_json, write_json
from .readings import Protocol
from .recipe import Entry, Recipe
from .store import RunFolder, Store

__all__ = ["Cell", "Place", "Table", "load_tables", "save_table"]

#: Row, column, replicate, member.
_Where = tuple[str, str, int, int]


@dataclass(frozen=True, kw_only=True)
class Place:
    """One run's place in a table."""

    row: str
    column: str
    replicate: int
    member: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What the runs of a row and a column came to under one protocol; accuracies in percent.

    ``mean`` and ``std`` are over replicates (seeds, folds) of the average over members (subjects);
    ``member_std`` is over members of the average over replicates. Only whole replicates count.
    """

    mean: float
    std: float | None
    member_std: float | None
    replicates: int
    members: int
    seconds: float
    missing: int


@dataclass(frozen=True, kw_only=True)
class Table:
    """A recipe as it was run: its text at that time, and its runs.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Store, load_tables
    >>> [table.name for table in load_tables(Store(Path("no-such-folder")))]
    []
    """

    name: str
    recipe: Recipe
    quick: bool
    overrides: Mapping[str, Any]
    places: Sequence[Place]
    store: Store
    #: Data sets that were not at hand, and what to do about them.
    left_out: Mapping[str, str] = field(default_factory=dict)
    _results: dict[str, dict[str, Any] | None] = field(default_factory=dict, repr=False)

    def folder(self, place: Place) -> RunFolder:
        """Return the folder of a run."""
        return self.store.by_hash(place.hash)

    def result(self, place: Place) -> dict[str, Any] | None:
        """Return a run's row, or None where it is not done."""
        if place.hash not in self._results:
            folder = self.folder(place)
            self._results[place.hash] = folder.result() if folder.done else None
        return self._results[place.hash]

    def runs(self, row: str, column: str) -> list[Place]:
        """Return the runs of a cell."""
        return [place for place in self.places if place.row == row and place.column == column]

    def results(self) -> list[dict[str, Any]]:
        """Return the rows of all finished runs."""
        return [result for result in map(self.result, self.places) if result is not None]

    def cell(self, row: str, column: str, protocol: Protocol) -> Cell | None:
        """Return a cell, or None where no replicate is whole or the protocol has no reading."""
        by_replicate: dict[int, dict[int, tuple[float, float] | None]] = {}
        for place in self.runs(row, column):
            result = self.result(place)
            reading = None if result is None else result["readings"].get(protocol)
            numbers = None
            if result is not None and reading is not None:
                numbers = 100.0 * reading["accuracy"], result["seconds_per_epoch"]
            by_replicate.setdefault(place.replicate, {})[place.member] = numbers
        whole = [
            {member: numbers for member, numbers in members.items() if numbers is not None}
            for members in by_replicate.values()
            if None not in members.values()
        ]
        if not whole:
            return None
        averages = [mean(accuracy for accuracy, _ in members.values()) for members in whole]
        of_members = [mean(members[member][0] for members in whole) for member in whole[0]]
        return Cell(
            mean=mean(averages),
            std=stdev(averages) if len(averages) > 1 else None,
            member_std=stdev(of_members) if len(of_members) > 1 else None,
            replicates=len(whole),
            members=len(of_members),
            seconds=mean(seconds for members in whole for _, seconds in members.values()),
            missing=sum(numbers is None for members in by_replicate.values() for numbers in members.values()),
        )


def save_table(
    store: Store,
    recipe: Recipe,
    entries: Sequence[Entry],
    *,
    quick: bool,
    overrides: Mapping[str, Any],
    left_out: Mapping[str, str] | None = None,
) -> Table:
    """Remember which runs a table is made of, next to those that earlier calls with the same recipe added.

    ``left_out``: data sets that could not be had, and what to do about them.
    """
    name = _table_name(recipe, quick=quick, overrides=overrides)
    places = {(entry.row, entry.column, entry.replicate, entry.member): entry.config.hash for entry in entries}
    missing = dict(left_out or {})
    path = store.tables / f"{name}.json"
    tree = recipe.model_dump(mode="json")
    if path.exists():
        old = _read_table(path, store)
        # Rows and columns may be computed one call at a time; a recipe that was edited starts afresh.
        if old.recipe == recipe:
            places = {(p.row, p.column, p.replicate, p.member): p.hash for p in old.places} | places
            run_now = {entry.config.data.name for entry in entries}
            missing = {name: old.left_out[name] for name in old.left_out if name not in run_now} | missing
    store.tables.mkdir(parents=True, exist_ok=True)
    ordered = _in_order(places, recipe)
    write_json(
        path,
        {
            "recipe": tree,
            "quick": quick,
            "overrides": dict(overrides),
            "places": [[*place, places[place]] for place in ordered],
            "left_out": missing,
        },
    )
    return _read_table(path, store)


def load_tables(store: Store, names: Sequence[str] = ()) -> list[Table]:
    """Return the tables that were run, all of them or those of these recipes or names.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Store, load_tables
    >>> load_tables(Store(Path("no-such-folder")))
    []
    """
    paths = sorted(store.tables.glob("*.json"))
    tables = [_read_table(path, store) for path in paths]
    if not names:
        return tables
    wanted = [name.removeprefix("tab:") for name in names]
    known = {table.name for table in tables} | {table.recipe.name for table in tables}
    missing = [name for name in wanted if name not in known]
    if missing:
        raise ExperimentError(
            f"{store.root} has no table {missing[0]!r}; it has {', '.join(sorted(known)) or 'none yet'}. "
            f"Make it with: spdnorm reproduce {missing[0]}"
        )
    return [table for table in tables if table.name in wanted or table.recipe.name in wanted]


def _read_table(path: Path, store: Store) -> Table:
    content = read_json(path)
    return Table(
        name=path.stem,
        recipe=validate(Recipe, content["recipe"], where=str(path)),
        quick=content["quick"],
        overrides=content["overrides"],
        places=[
            Place(row=row, column=column, replicate=replicate, member=member, hash=name)
            for row, column, replicate, member, name in content["places"]
        ],
        store=store,
        left_out=content.get("left_out", {}),
    )


def _in_order(places: Iterable[_Where], recipe: Recipe) -> list[_Where]:
    rows = {row.key: i for i, row in enumerate(recipe.rows)}
    columns = {column.key: i for i, column in enumerate(recipe.columns)}
    return sorted(places, key=lambda place: (columns[place[1]], rows[place[0]], *place[2:]))


def _table_name(recipe: Recipe, *, quick: bool, overrides: Mapping[str, Any]) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", recipe.name) + ("-quick" if quick else "")
    if not overrides:
        return name
    digest = hashlib.sha256(json.dumps(dict(overrides), sort_keys=True).encode()).hexdigest()[:8]
    return f"{name}-{digest}"
