"""``spdnorm data``: list, describe, fetch, verify and prepare data sets."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"`spdnorm data` needs the package {error.name!r}: pip install 'spdnorm[experiments]'", name=error.name
    ) from error

from .cache import ENVIRONMENT_VARIABLE, data_root
from .download import fetch as fetch_files
from .download import verify as verify_files
from .errors import DatasetError, MissingDataError
from .registry import DatasetInfo, info, names

if TYPE_CHECKING:
    from .types import MatrixDataset, SignalDataset

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    help="List, describe, fetch, verify and prepare data sets.",
    pretty_exceptions_show_locals=False,
)

#: More channels than these are not listed by name.
_MOST_CHANNELS = 32

Name = Annotated[str, typer.Argument(help="A data set's name, as `spdnorm data list` shows it, or moabb:NAME.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help=f"Data folder; defaults to {ENVIRONMENT_VARIABLE}, then the user's cache folder."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Say what is wrong in one line and exit with status 1; leave bugs their traceback."""
    try:
        yield
    except DatasetError as error:
        message = str(error)
    except BrokenPipeError:
        raise  # whoever read the output has left, which click takes for the end
    except OSError as error:
        # What no loader foresees: a broken disk, a name that is too long, a file system that has gone.
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    else:
        return
    Console(stderr=True).print(f"error: {message}", style="red", markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1)


@app.command("list")
def list_(data_dir: DataDir = None) -> None:
    """List the data sets and whether they are on this machine."""
    with _clear_errors():
        root = data_root(data_dir)
        table = Table("name", "kind", "here", "get it by", "description")
        for name in names():
            entry = info(name)
            table.add_row(name, entry.kind, _presence(entry, root), _way(entry), entry.description)
        console = Console()
        console.print(table)
        console.print(f"Any MOABB data set: moabb:NAME. Data folder: {root}", highlight=False, soft_wrap=True)


@app.command("info")
def info_(
    name: Name,
    data_dir: DataDir = None,
    lam: Annotated[float, typer.Option("--lambda", min=0.0, help="Add lambda I to each covariance.")] = 0.0,
) -> None:
    """Describe a data set: licence, subjects, sessions, classes, and the conditioning of its matrices."""
    from .report import composition, spectrum_report

    with _clear_errors():
        entry = info(name)
        root = data_root(data_dir)
        console = Console()
        for label, text in _facts(entry, root):
            console.print(f"[bold]{label}[/bold]: ", end="")
            console.print(text, markup=False, highlight=False, soft_wrap=True)
        # The report reads what is here; it is for `fetch` to download.
        local = {"download": False} if entry.fetchable else {}
        dataset = entry.loader(root, **local)
        console.print(_shape(dataset), highlight=False, soft_wrap=True)
        shown = composition(dataset)
        for column, counts in shown.items():
            text = ", ".join(f"{key}: {count}" for key, count in counts.items())
            console.print(f"{column} ({len(counts)}): {text}", markup=False, highlight=False, soft_wrap=True)
        for column in dataset.metadata:
            if column not in shown:
                console.print(f"{column}: {len(np.unique(dataset.column(column)))} values", highlight=False)
        matrices = _matrices(dataset, lam)
        # What the data's own precision leaves below its rounding is no rank; lambda is above it, and counts.
        precision = np.finfo(np.float64 if lam else np.result_type(dataset.x.dtype, np.float32))
        report = spectrum_report(matrices, rtol=matrices.shape[-1] * float(precision.eps))
        table = Table("quantile", "rank", "condition number", "on its range", "smallest", "largest eigenvalue")
        for quantile, rank in report.quantiles("rank").items():
            keys = ("condition", "condition_on_range", "smallest", "largest")
            table.add_row(
                f"{quantile:.0%}", str(int(rank)), *(f"{report.quantiles(key)[quantile]:.3g}" for key in keys)
            )
        console.print(f"{report.n_samples} matrices {report.n_features}x{report.n_features}, lambda {lam:g}")
        console.print(table)
        over = ", ".join(
            f"> {threshold:.0e}: {count} ({count / report.n_samples:.1%})"
            for threshold, count in report.ill_conditioned().items()
        )
        console.print(f"condition number {over}", highlight=False)


@app.command()
def fetch(name: Name, data_dir: DataDir = None, quiet: Quiet = False) -> None:
    """Download a data set's files, resuming what was interrupted, and check them."""
    with _clear_errors():
        entry = info(name)
        if not entry.folder:
            typer.echo(f"{entry.name} needs no files.")
            return
        for path in fetch_files(entry, data_root(data_dir), progress=not quiet):
            typer.echo(f"ok {path}")


@app.command()
def verify(name: Name, data_dir: DataDir = None) -> None:
    """Check a data set's files against their recorded SHA-256."""
    with _clear_errors():
        entry = info(name)
        if not entry.folder:
            typer.echo(f"{entry.name} needs no files.")
            return
        if not entry.files:
            raise MissingDataError(f"no hashes are recorded for {entry.name}. {entry.instructions}")
        for path in verify_files(entry, data_root(data_dir)):
            typer.echo(f"ok {path}")


@app.command()
def prepare(
    name: Name,
    data_dir: DataDir = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes (NTU's conversion).")] = 2,
    restart: Annotated[bool, typer.Option("--restart", help="Begin an unfinished conversion again (NTU).")] = False,
    quiet: Quiet = False,
) -> None:
    """Convert a raw release once: unpack it, read it, write what the loader reads."""
    with _clear_errors():
        entry = info(name)
        if entry.prepare is None:
            typer.echo(f"{entry.name} needs no preparation. {entry.instructions}")
            return
        given = {"progress": not quiet, "workers": workers, "restart": restart}
        taken = inspect.signature(entry.prepare).parameters
        options = {key: value for key, value in given.items() if key in taken}
        typer.echo(f"ok {entry.prepare(data_root(data_dir), **options)}")


def _presence(entry: DatasetInfo, root: Path) -> str:
    if not entry.folder:
        return "built in"
    folder = root / entry.folder
    if entry.files:
        found = sum((folder / file.name).is_file() for file in entry.files)
        return "yes" if found == len(entry.files) else f"{found} of {len(entry.files)}"
    return "folder" if folder.is_dir() else "no"


def _way(entry: DatasetInfo) -> str:
    if not entry.folder:
        return "-"
    if entry.fetchable:
        return "fetch"
    return "prepare" if entry.prepare else "by hand"


def _facts(entry: DatasetInfo, root: Path) -> Iterator[tuple[str, str]]:
    yield entry.title, entry.description
    yield "licence", entry.licence
    for label, text in (("citation", entry.citation), ("source", entry.homepage)):
        if text:
            yield label, text
    if entry.folder:
        yield "folder", str(root / entry.folder)


def _shape(dataset: SignalDataset | MatrixDataset) -> str:
    from .types import SignalDataset

    text = f"x {dataset.x.shape} {dataset.x.dtype}, {dataset.n_classes} classes"
    if isinstance(dataset, SignalDataset):
        if not math.isnan(dataset.sampling_rate):
            text += f", {dataset.sampling_rate:g} Hz"
        if 0 < len(dataset.channel_names) <= _MOST_CHANNELS:
            text += f", channels {' '.join(dataset.channel_names)}"
        if dataset.lengths is not None:
            text += f", lengths {dataset.lengths.min()} to {dataset.lengths.max()}"
    return text


def _matrices(dataset: SignalDataset | MatrixDataset, lam: float) -> np.ndarray:
    from .types import SignalDataset

    if isinstance(dataset, SignalDataset):
        return dataset.to_spd(dtype="float64", regularization=lam).x
    return dataset.regularized(lam).x if lam else dataset.x
