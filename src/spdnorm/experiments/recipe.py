"""Recipes: a table of the paper as data, and the runs that it stands for.

A table has rows and columns; a cell is the average over the runs of its members (subjects, say), once for each
replicate (seed or fold), and its spread is that over replicates. Every part may ``set`` configuration keys; later
parts win: the base, the column, the row, the member, the replicate, the quick form, the user.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from .config import Frozen, RunConfig, set_dotted, validate
from .errors import ConfigError
from .readings import PROTOCOLS, Protocol

__all__ = ["Column", "Entry", "Recipe", "Row", "load_recipe", "recipe_names"]

#: Keys that move together through lists of values: ``{"seed": [0, 1], "data.split.fold": [0, 1]}`` are 2 settings.
Walk = dict[str, list[Any]]


def settings(walk: Walk) -> list[dict[str, Any]]:
    """Return the settings of a walk in order; an empty walk is one empty setting."""
    if not walk:
        return [{}]
    length = {len(values) for values in walk.values()}
    if len(length) != 1:
        raise ConfigError(f"lists that move together differ in length: {walk}")
    return [{key: values[i] for key, values in walk.items()} for i in range(length.pop())]


class Row(Frozen):
    """One row: a method, or a value of what is varied; ``paper`` and ``paper_seconds`` by column key."""

    key: str
    label: str
    #: Rows among which one is chosen, where the recipe says by which column.
    group: str = ""
    set: dict[str, Any] = Field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    paper: dict[str, tuple[float, float]] = Field(default_factory=dict)
    paper_seconds: dict[str, float] = Field(default_factory=dict)
    #: For tables of condition numbers: epoch -> threshold -> counts (without, before, after).
    paper_counts: dict[str, dict[str, tuple[int, int, int]]] = Field(default_factory=dict)


class Column(Frozen):
    """One column: a data set, or a method."""

    key: str
    label: str
    set: dict[str, Any] = Field(default_factory=dict)
    replicates: Walk | None = None
    members: Walk | None = None
    #: Show the paper's seconds an epoch beside ours.
    time: bool = False
    #: Which readings to show.
    protocols: tuple[Protocol, ...] = PROTOCOLS
    #: Run only where it is asked for, or by the quick form.
    optional: bool = False


class Quick(Frozen):
    """The quick form: it shows that everything works, and ranks nothing."""

    set: dict[str, Any] = Field(default_factory=dict)
    replicates: Walk | None = None
    members: Walk | None = None
    rows: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    column_set: dict[str, dict[str, Any]] = Field(default_factory=dict)


class Recipe(Frozen):
    """A table as data.

    Examples
    --------
    >>> from spdnorm.experiments import load_recipe
    >>> recipe = load_recipe("mamem_acc")
    >>> len(recipe.entries(rows=("gbwbn",), replicates=1))  # one run for each of the 11 subjects
    11
    """

    name: str
    title: str
    source: str = ""
    layout: Literal["accuracy", "transposed", "conditions"] = "accuracy"
    #: The column by which a row is chosen, for what the others then say of it: one that saw no test part.
    choose_by: str | None = None
    row_title: str = "Models"
    notes: str = ""
    #: The readings that its report shows.
    protocols: tuple[Protocol, ...] = PROTOCOLS
    #: What to say after the table was run from the command line.
    next_steps: str = ""
    base: dict[str, Any] = Field(default_factory=dict)
    replicates: Walk = Field(default_factory=lambda: {"seed": [0]})
    members: Walk = Field(default_factory=dict)
    rows: tuple[Row, ...] = Field(min_length=1)
    columns: tuple[Column, ...] = Field(min_length=1)
    quick: Quick = Quick()

    @model_validator(mode="after")
    def _keys_exist(self) -> Self:
        for what, parts in (("row", self.rows), ("column", self.columns)):
            keys = [part.key for part in parts]
            if len(set(keys)) < len(keys):
                raise ValueError(f"two {what}s have the same key: {keys}")
        columns = {column.key for column in self.columns}
        if self.choose_by is not None and self.choose_by not in columns:
            raise ValueError(f"choose_by names the unknown column {self.choose_by!r}; there are {sorted(columns)}")
        for row in self.rows:
            unknown = (set(row.paper) | set(row.paper_seconds) | set(row.columns or ())) - columns
            if unknown:
                raise ValueError(f"row {row.key!r} names unknown columns {sorted(unknown)}")
        return self

    def protocols_of(self, column: Column) -> tuple[Protocol, ...]:
        """The readings that a column shows."""
        return tuple(protocol for protocol in self.protocols if protocol in column.protocols)

    def entries(
        self,
        *,
        quick: bool = False,
        rows: tuple[str, ...] = (),
        columns: tuple[str, ...] = (),
        replicates: int | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> list[Entry]:
        """Return every run of the table, or of the chosen rows and columns, in the table's order.

        ``replicates`` takes the first so many only; ``overrides`` are dotted keys that win over all.
        """
        chosen_rows = _choose(self.rows, rows or (self.quick.rows if quick else None), what="row", recipe=self)
        chosen_columns = _choose(
            self.columns, columns or (self.quick.columns if quick else None), what="column", recipe=self
        )
        found = []
        if not columns and not (quick and self.quick.columns):
            chosen_columns = [column for column in chosen_columns if not column.optional]
        for column in chosen_columns:
            for row in chosen_rows:
                if row.columns is None or column.key in row.columns:
                    found += self._cell(row, column, quick, replicates, dict(overrides or {}))
        return found

    def _cell(self, row: Row, column: Column, quick: bool, limit: int | None, overrides: dict[str, Any]) -> list[Entry]:
        replicates = self.replicates if column.replicates is None else column.replicates
        members = self.members if column.members is None else column.members
        if quick:
            replicates = _shorten(replicates, self.quick.replicates)
            members = _shorten(members, self.quick.members)
        found = []
        for number, replicate in enumerate(settings(replicates)[:limit]):
            for position, member in enumerate(settings(members)):
                tree = deepcopy(self.base)
                _merge(tree, column.set)
                _merge(tree, row.set)
                for key, value in (member | replicate).items():
                    set_dotted(tree, key, value)
                if quick:
                    _merge(tree, self.quick.set)
                    _merge(tree, self.quick.column_set.get(column.key, {}))
                for key, value in overrides.items():
                    set_dotted(tree, key, value)
                where = f"recipe {self.name!r}, row {row.key!r}, column {column.key!r}"
                config = validate(RunConfig, tree, where=where)
                found.append(Entry(row=row.key, column=column.key, replicate=number, member=position, config=config))
        return found


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One run, and where in its table it belongs."""

    row: str
    column: str
    replicate: int
    member: int
    config: RunConfig


def _shorten(walk: Walk, quick: Walk | None) -> Walk:
    # A quick walk replaces the keys that the column has; others (a fold, say) are cut to its length.
    if quick is None:
        return walk
    if not quick:
        return {}
    length = len(next(iter(quick.values())))
    return {key: quick.get(key, values)[:length] for key, values in walk.items()}


def _choose(parts: Any, keys: Any, *, what: str, recipe: Recipe) -> list[Any]:
    if not keys:
        return list(parts)
    known = {part.key: part for part in parts}
    missing = [key for key in keys if key not in known]
    if missing:
        raise ConfigError(f"recipe {recipe.name!r} has no {what} {missing[0]!r}; it has {', '.join(known)}")
    return [known[part.key] for part in parts if part.key in keys]


def _merge(tree: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, Mapping) and isinstance(tree.get(key), dict):
            _merge(tree[key], value)
        else:
            tree[key] = deepcopy(value)


def recipe_names() -> list[str]:
    """Return the names of the recipes in the package, sorted.

    Examples
    --------
    >>> from spdnorm.experiments import recipe_names
    >>> "mamem_acc" in recipe_names()
    True
    """
    names = (entry.name for entry in (resources.files(__package__) / "recipes").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml") and name[0] != "_")


def load_recipe(name: str) -> Recipe:
    """Return a recipe of the package by its name, or any TOML file by its path.

    ``include = ["name"]`` takes over what other files of the package say, as far as the recipe itself does not.

    Examples
    --------
    >>> from spdnorm.experiments import load_recipe
    >>> [row.key for row in load_recipe("demo").rows]
    ['spdnet', 'spdbn', 'liebn', 'gbwbn']
    """
    if name.endswith(".toml"):
        path = Path(name)
        if not path.is_file():
            raise ConfigError(f"there is no recipe file {path}")
        text = path.read_text()
    else:
        # The paper's source calls some tables `tab:...`.
        name = name.removeprefix("tab:")
        if name not in recipe_names():
            raise ConfigError(f"no recipe is named {name!r}; there are {', '.join(recipe_names())}")
        text = _packaged(name)
    return validate(Recipe, _tree(text, name), where=f"recipe {name}")


def _packaged(name: str) -> str:
    entry = resources.files(__package__) / "recipes" / f"{name}.toml"
    # A name, not a way to other folders.
    if not name.isidentifier() or not entry.is_file():
        raise ConfigError(f"no recipe is named {name!r}; there are {', '.join(recipe_names())}")
    return entry.read_text()


def _tree(text: str, name: str, within: tuple[str, ...] = ()) -> dict[str, Any]:
    if name in within:
        raise ConfigError(f"recipe {name} includes itself: {' -> '.join([*within, name])}")
    try:
        own = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"recipe {name}: {error}") from None
    tree: dict[str, Any] = {}
    for included in own.pop("include", []):
        _merge(tree, _tree(_packaged(included), included, (*within, name)))
    _merge(tree, own)
    return tree
