"""``spdnorm figure``: the paper's figures as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..datasets.extras import require
from ..experiments import ConfigError, Store
from ..experiments.commands import options as opt
from .errors import FigureError
from .registry import FIGURES

__all__ = ["app"]

app = typer.Typer(pretty_exceptions_show_locals=False)

_PARTS = ("train", "validation", "test", "all")


@app.command()
def figure(
    name: Annotated[str, typer.Argument(help="A figure's name, as --list shows it, or the paper's label.")] = "",
    list_: Annotated[bool, typer.Option("--list", help="List the figures and stop.")] = False,
    runs: Annotated[
        list[Path] | None, typer.Option("--run", help="A run's folder, RESULTS/runs/HASH; may be repeated.")
    ] = None,
    norms: Annotated[
        list[str] | None, typer.Option("--norm", help="Train with this normalisation; may be repeated: side by side.")
    ] = None,
    subject: Annotated[int, typer.Option(help="Subject of MAMEM-SSVEP-II to train on.", min=1, max=11)] = 11,
    seed: Annotated[int, typer.Option(help="First seed.", min=0)] = 0,
    seeds: Annotated[int, typer.Option(help="Number of seeds to train.", min=1)] = 1,
    settings: opt.Settings = None,
    part: Annotated[str, typer.Option(help="Samples to look at: train, validation, test or all.")] = "test",
    channel: Annotated[str, typer.Option(help="Channel of response-shares.")] = "Oz",
    window: Annotated[str, typer.Option(help="Stretch of time to mark and measure, in seconds.")] = "0.25-0.60",
    channel_names: Annotated[
        str, typer.Option(help="Names of the channels in the order of the data, with commas; the data set's if empty.")
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("figures"),
    formats: Annotated[
        list[str] | None, typer.Option("--format", help="png, pdf or svg; may be repeated; all where left out.")
    ] = None,
    dpi: Annotated[int, typer.Option(help="Dots per inch of PNG.", min=20, max=1200)] = 200,
    results: opt.Results = Path("runs/figures"),
    data_dir: opt.DataDir = None,
    threads: opt.Threads = 1,
    checkpoint_every: opt.CheckpointEvery = 10,
    tensorboard: opt.TensorBoard = False,
    accelerator: opt.Accelerator = "cpu",
    progress: opt.Progress = "auto",
) -> None:
    """Draw a figure of the paper and write it, with its numbers beside it.

    Without --run the networks are trained first, with the paper's configuration on one subject (--set changes any
    key), and kept in the results folder, so that a second figure of them needs no training.
    """
    with opt.clear_errors():
        if list_ or not name:
            _list()
            return
        require("matplotlib", extra="figures", purpose="a figure")
        require("mne", extra="figures", purpose="a figure")
        from .output import FORMATS, save
        from .registry import make_figure
        from .request import Request

        chosen = tuple(formats or FORMATS)
        if unknown := [entry for entry in chosen if entry not in FORMATS]:
            raise FigureError(f"--format {unknown[0]}: choose from {', '.join(FORMATS)}")
        if part not in _PARTS:
            raise FigureError(f"--part {part}: choose from {', '.join(_PARTS)}")
        if runs and (norms or settings):
            raise FigureError(
                "--run draws what was trained; --norm and --set are for training: give the one or the other"
            )
        execution = opt.execution_from(
            data_dir=data_dir,
            threads=threads,
            checkpoint_every=checkpoint_every,
            tensorboard=tensorboard,
            accelerator=accelerator,
            progress=progress,
        )
        request = Request(
            store=Store(results),
            execution=execution,
            runs=tuple(runs or ()),
            norms=tuple(norms or ()),
            subject=subject,
            seed=seed,
            seeds=seeds,
            overrides=opt.parse_settings(settings),
            part=part,  # type: ignore[arg-type]
            channel=channel,
            window=_window(window),
            channel_names=tuple(entry.strip() for entry in channel_names.split(",") if entry.strip()),
        )
        name, drawn = make_figure(name, request)
        for path in save(drawn, out, name, formats=chosen, dpi=dpi):
            typer.echo(path)


def _window(text: str) -> tuple[float, float]:
    first, _, last = text.partition("-")
    try:
        found = float(first), float(last)
    except ValueError:
        raise ConfigError(f"--window {text}: write FIRST-LAST in seconds, as in 0.25-0.60") from None
    if not found[0] < found[1]:
        raise ConfigError(f"--window {text}: the first second must come before the last")
    return found


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    shown = Table()
    for column in ("figure", "what it shows", "made from"):
        shown.add_column(column, no_wrap=column == "figure")
    for name, info in FIGURES.items():
        shown.add_row(name, info.title, info.source)
    Console().print(shown)
