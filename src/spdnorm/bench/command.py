"""``spdnorm bench``: how fast the library is here, beside the peers that are installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated, Any

import spdnorm.experiments  # noqa: F401 - first, because it says which extra brings what is needed

# isort: split
import torch
import typer

from spdnorm.bench import tables
from spdnorm.bench.output import markdown, plot, write_json
from spdnorm.bench.peers import peer_names
from spdnorm.experiments.environment import commit, packages, processor
from spdnorm.linalg import native

app = typer.Typer(pretty_exceptions_show_locals=False)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise typer.BadParameter(f"no such device: {name!r}; try cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise typer.BadParameter("there is no CUDA device here; leave --device out for the CPU")
    return device


def _facts(setting: tables.Setting) -> dict[str, Any]:
    cuda = setting.device.type == "cuda"
    return {
        "processor": processor(),
        "device": torch.cuda.get_device_name(setting.device) if cuda else "cpu",
        "threads": torch.get_num_threads(),
        "compiled code": native.unavailable() or "yes",
        "dtype": str(setting.dtype).removeprefix("torch."),
        "rounds": setting.rounds,
        "packages": packages(peer_names()),
        "commit": commit(),
    }


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(help=f"Of: {', '.join(tables.names())}; all if left out.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    dtype: Annotated[str, typer.Option(help="float64 or float32.")] = "float64",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds that count.")] = 15,
    quick: Annotated[bool, typer.Option("--quick", help="Few sizes and rounds.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for timings.json, tables.md and timings.png.")] = None,
) -> None:
    """Time layers, networks and eigensolvers in turns, and print tables."""
    if dtype not in ("float64", "float32"):
        raise typer.BadParameter(f"--dtype must be float64 or float32, got {dtype!r}")
    try:
        chosen = [tables.get(name) for name in names or tables.names()]
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    torch.set_num_threads(threads)
    setting = tables.Setting(device=_device(device), dtype=getattr(torch, dtype), rounds=rounds, quick=quick)
    facts = _facts(setting)
    typer.echo("\n".join(f"{key}: {value}" for key, value in facts.items()))
    measured = []
    for measure in chosen:
        measured.append(measure(setting))
        typer.echo("\n" + markdown(measured[-1]))
    if out is None:
        return
    write_json(measured, facts, out / "timings.json")
    (out / "tables.md").write_text("\n\n".join(map(markdown, measured)) + "\n", encoding="utf-8")
    if importlib.util.find_spec("matplotlib") is None:
        typer.echo("no plot: matplotlib is missing; install it with: pip install 'spdnorm[figures]'", err=True)
    else:
        plot(measured, out / "timings.png")
    typer.echo(f"\nwrote {out}")
