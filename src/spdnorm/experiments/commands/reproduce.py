"""``spdnorm reproduce``: the whole grid of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError
from ..logs import console
from ..recipe import load_recipe, recipe_names
from ..store import Store
from . import options as opt
from .show import show_table

__all__ = ["app"]

app = typer.Typer(pretty_exceptions_show_locals=False)


@app.command()
def reproduce(
    table: Annotated[str, typer.Argument(help="A table's name, as --list shows it, or a TOML file.")] = "",
    list_: Annotated[bool, typer.Option("--list", help="List the tables and stop.")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Print what would be run and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A form that ends in two minutes on 2 cores.")] = False,
    rows: Annotated[list[str] | None, typer.Option("--row", help="Only this row; may be repeated.")] = None,
    columns: Annotated[list[str] | None, typer.Option("--column", help="Only this column; may be repeated.")] = None,
    replicates: Annotated[int | None, typer.Option(help="The first so many seeds or folds.", min=1)] = None,
    settings: opt.Settings = None,
    jobs: Annotated[int | None, typer.Option(help="Processes; all processors where left out.", min=1)] = None,
    scheduler: Annotated[str | None, typer.Option(help="A Dask scheduler's address, tcp://host:8786.")] = None,
    batched: Annotated[bool, typer.Option("--batched", help="Train equal networks as one batched program.")] = False,
    results: opt.Results = Path("runs"),
    data_dir: opt.DataDir = None,
    threads: opt.Threads = 1,
    checkpoint_every: opt.CheckpointEvery = 1,
    tensorboard: opt.TensorBoard = False,
    accelerator: opt.Accelerator = "cpu",
    progress: opt.Progress = "auto",
) -> None:
    """Run a table's grid, continue it where it was stopped, print it and write its report."""
    with opt.clear_errors():
        if list_ or not table:
            _list()
            return
        recipe = load_recipe(table)
        overrides = opt.parse_settings(settings)
        if plan:
            _plan(recipe, quick, rows, columns, replicates, overrides)
            return
        execution = opt.execution_from(
            data_dir=data_dir,
            threads=threads,
            checkpoint_every=checkpoint_every,
            tensorboard=tensorboard,
            accelerator=accelerator,
            progress=progress,
        )
        # Training brings in torch and Fabric, which --help and --list need not wait for.
        from ..reproduce import reproduce as run_table

        outcome = run_table(
            recipe,
            store=Store(results),
            execution=execution,
            quick=quick,
            rows=rows or (),
            columns=columns or (),
            replicates=replicates,
            overrides=overrides,
            jobs=jobs,
            scheduler=scheduler,
            batched=batched,
        )
        show_table(outcome.table)
        notes = console()
        for message in outcome.skipped.values():
            notes.print(f"left out: {message}", markup=False, highlight=False, soft_wrap=True)
        # Runs of one row mostly fail for one reason.
        for message in dict.fromkeys(failure.message for failure in outcome.failures):
            hashes = [failure.hash for failure in outcome.failures if failure.message == message]
            text = f"failed: {len(hashes)} run(s), {', '.join(hashes[:3])}{', …' * (len(hashes) > 3)}: {message}"
            notes.print(text, style="red", markup=False, highlight=False, soft_wrap=True)
        typer.echo(f"report: {outcome.report[0]}")
        if recipe.next_steps:
            typer.echo(recipe.next_steps)
        if outcome.failures:
            raise typer.Exit(1)


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table()
    for name in ("table", "title", "rows", "columns", "runs"):
        shown.add_column(name, no_wrap=name == "table")
    for name in recipe_names():
        recipe = load_recipe(name)
        columns = ", ".join(column.key for column in recipe.columns)
        shown.add_row(name, recipe.title, str(len(recipe.rows)), columns, str(len(recipe.entries())))
    Console().print(shown)


def _plan(recipe, quick, rows, columns, replicates, overrides) -> None:  # type: ignore[no-untyped-def]
    entries = recipe.entries(
        quick=quick, rows=tuple(rows or ()), columns=tuple(columns or ()), replicates=replicates, overrides=overrides
    )
    if not entries:
        raise ConfigError("nothing to run: no row has a column that was asked for")
    for entry in entries:
        place = f"{entry.row}\t{entry.column}\t{entry.replicate}\t{entry.member}"
        typer.echo(f"{entry.config.hash}\t{place}\t{entry.config.data.name}\t{entry.config.train.epochs} epochs")
