"""Options that the commands share, and how their errors are shown."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from ...datasets.errors import DatasetError
from ..errors import ConfigError, ExperimentError
from ..execution import Execution
from ..logs import console

__all__ = ["clear_errors", "execution_from", "parse_settings"]

Results = Annotated[Path, typer.Option("--results", help="Results folder; what is done there is not run again.")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Data folder; defaults to SPDNORM_DATA, then the user's cache folder."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a configuration key, optim.lr=1e-2; may be repeated."),
]
Threads = Annotated[int, typer.Option(help="Threads of one run.", min=1)]
CheckpointEvery = Annotated[int, typer.Option(help="Epochs from one checkpoint to the next.", min=1)]
TensorBoard = Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard events as well.")]
Accelerator = Annotated[str, typer.Option(help="cpu, cuda, mps or auto, as Lightning Fabric names them.")]
Progress = Annotated[str, typer.Option(help="on, off, or auto: on a terminal only.")]


def parse_settings(settings: Sequence[str] | None) -> dict[str, Any]:
    """Return ``KEY=VALUE`` texts as a mapping; values are TOML, and anything else is text.

    ``train.epochs=5``, ``model.norm=gbw``, ``model.options.dims=[15, 12]``, ``train.gradient_clip=null``.
    """
    found: dict[str, Any] = {}
    for text in settings or ():
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise ConfigError(f"--set {text!r}: write KEY=VALUE, as in --set optim.lr=1e-2")
        found[key.strip()] = _value(value.strip())
    return found


def _value(text: str) -> Any:
    # TOML has no null; "none" stays a text, since a normalisation is called so.
    if text == "null":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def execution_from(
    *,
    data_dir: Path | None,
    threads: int,
    checkpoint_every: int,
    tensorboard: bool,
    accelerator: str,
    progress: str,
    devices: int = 1,
) -> Execution:
    """Return how to compute, from the command line's options."""
    if progress not in ("auto", "on", "off"):
        raise ConfigError(f"--progress {progress}: choose auto, on or off")
    return Execution(
        data_dir=None if data_dir is None else str(data_dir),
        accelerator=accelerator,
        devices=devices,
        threads=threads,
        checkpoint_every=checkpoint_every,
        tensorboard=tensorboard,
        progress=progress,  # type: ignore[arg-type]
    )


@contextmanager
def clear_errors() -> Iterator[None]:
    """Say what is wrong in one line and exit with status 1 (130 where stopped by hand); leave bugs their traceback."""
    try:
        yield
    except KeyboardInterrupt:
        console().print("stopped; the same command continues from the last epoch", style="yellow")
        raise typer.Exit(130) from None
    except (ExperimentError, DatasetError) as error:
        console().print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None
