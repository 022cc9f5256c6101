"""``spdnorm train``: one model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ..config import RunConfig, canonical
from ..errors import ConfigError
from ..logs import console
from ..recipe import load_recipe
from ..store import Store
from . import options as opt

__all__ = ["app"]

app = typer.Typer(pretty_exceptions_show_locals=False)

#: Short names of single runs, beside recipes: each is a recipe, a row and a column of it.
SHORT = {"mamem": ("mamem_acc", "gbwbn", "mamem")}


@app.command()
def train(
    recipe: Annotated[
        str, typer.Argument(help="A recipe's name, one of its rows as NAME:ROW or NAME:ROW:COLUMN, or a TOML file.")
    ],
    settings: opt.Settings = None,
    seed: Annotated[int | None, typer.Option(help="Seed; the recipe's first where left out.", min=0)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The recipe's quick form.")] = False,
    results: opt.Results = Path("runs"),
    data_dir: opt.DataDir = None,
    threads: opt.Threads = 1,
    checkpoint_every: opt.CheckpointEvery = 1,
    tensorboard: opt.TensorBoard = False,
    conditions: Annotated[
        bool, typer.Option("--conditions", help="Record condition numbers around every normalisation.")
    ] = False,
    accelerator: opt.Accelerator = "cpu",
    devices: Annotated[int, typer.Option(help="Devices; more than one under torchrun or fabric run.", min=1)] = 1,
    progress: opt.Progress = "auto",
    show: Annotated[bool, typer.Option("--show", help="Print the configuration and stop.")] = False,
) -> None:
    """Train one model, or continue it where it was stopped, and print its result.

    The first run of a recipe's row is taken (first subject, first seed); --set changes any of its keys.
    """
    with opt.clear_errors():
        values = opt.parse_settings(settings)
        if seed is not None:
            values["seed"] = seed
        config = _first(recipe, values, quick=quick)
        if show:
            typer.echo(canonical(config))
            return
        execution = opt.execution_from(
            data_dir=data_dir,
            threads=threads,
            checkpoint_every=checkpoint_every,
            tensorboard=tensorboard,
            accelerator=accelerator,
            progress=progress,
            devices=devices,
        )
        # Training brings in torch and Fabric, which --help and --show need not wait for.
        from ..condition_log import ConditionLog
        from ..run import run

        store = Store(results)
        logs = [partial(ConditionLog, tensorboard=tensorboard)] if conditions else []
        result = run(config, store=store, execution=execution, logs=logs)
        if result:
            _print(result, store)


def _first(name: str, values: dict[str, Any], *, quick: bool) -> RunConfig:
    base, _, rest = name.partition(":") if not name.startswith("tab:") else name[4:].partition(":")
    row, _, column = rest.partition(":")
    if base in SHORT:
        base, row, column = SHORT[base][0], row or SHORT[base][1], column or SHORT[base][2]
    entries = load_recipe(base).entries(
        quick=quick,
        rows=(row,) if row else (),
        columns=(column,) if column else (),
        replicates=1,
        overrides=values,
    )
    if not entries:
        raise ConfigError(f"{name!r} names no run: that row has no such column")
    return entries[0].config


def _print(result: dict[str, Any], store: Store) -> None:
    typer.echo(f"run {result['hash']}  seed {result['seed']}  {result['epochs']} epochs")
    for protocol, reading in result["readings"].items():
        typer.echo(
            f"protocol {protocol}: accuracy {reading['accuracy']:.2%} on the {reading['part']} part, epoch "
            f"{reading['epoch']} ({reading['selection']}), averaged over {reading['average']}"
        )
    typer.echo(f"{result['seconds_per_epoch']:.3f} s an epoch, {result['parameters']:,} parameters")
    folder = store.by_hash(result["hash"]).path
    console().print(f"results in {folder}", markup=False, highlight=False, soft_wrap=True)
