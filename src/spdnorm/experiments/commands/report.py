"""``spdnorm report``: tables from what the results folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ExperimentError
from ..report import write_report
from ..store import Store
from ..table import load_tables
from . import options as opt
from .show import show_table

__all__ = ["app"]

app = typer.Typer(pretty_exceptions_show_locals=False)


@app.command()
def report(
    names: Annotated[list[str] | None, typer.Argument(help="Tables; all that were run where left out.")] = None,
    results: opt.Results = Path("runs"),
    out: Annotated[Path | None, typer.Option(help="Where to write; RESULTS/report where left out.")] = None,
    figures: Annotated[
        list[Path] | None, typer.Option("--figure", help="A picture to put into the page; may be repeated.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option("--against", help="A row to compare with every other one, by paired runs.")
    ] = None,
    pooled: Annotated[
        bool, typer.Option("--pooled", help="Pool the networks of each row over seeds; needs data and weights.")
    ] = False,
    data_dir: opt.DataDir = None,
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Results",
) -> None:
    """Print tables and write them as Markdown, LaTeX and one self-contained HTML page."""
    with opt.clear_errors():
        store = Store(results)
        tables = load_tables(store, names or ())
        if not tables:
            raise ExperimentError(f"{results} holds no table yet; make one with: spdnorm reproduce TABLE")
        for table in tables:
            show_table(table)
        folder = out or store.report
        written = write_report(
            tables,
            folder,
            title=title,
            figures=figures or (),
            reference=reference,
            pools=pooled,
            data_dir=None if data_dir is None else str(data_dir),
        )
        for path in written:
            typer.echo(path)
