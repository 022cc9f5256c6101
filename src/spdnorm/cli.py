"""The command line, ``spdnorm``: each room brings its own sub-commands, and is loaded when one of them is called."""

from __future__ import annotations

import importlib
import sys

__all__ = ["main"]

#: Sub-command -> the module that holds its typer application as ``app``, and what it is for.
SUBCOMMANDS: dict[str, tuple[str, str]] = {
    "data": ("spdnorm.datasets.commands", "List, describe, fetch, verify and prepare data sets."),
    "train": ("spdnorm.experiments.commands.train", "Train one model."),
    "reproduce": ("spdnorm.experiments.commands.reproduce", "Run the whole grid of a table of the paper."),
    "report": ("spdnorm.experiments.commands.report", "Write tables as Markdown, LaTeX and HTML."),
    "bench": ("spdnorm.bench.command", "Time layers, networks and eigensolvers beside their peers."),
    "figure": ("spdnorm.figures.commands", "Draw a figure of the paper."),
}

_MISSING = "error: the command line needs the package {name!r}; install it with: pip install 'spdnorm[experiments]'"


def main(arguments: list[str] | None = None) -> None:
    """Run the command line on ``arguments`` (by default those of the process)."""
    given = sys.argv[1:] if arguments is None else arguments
    command = given[0] if given else ""
    if command == "--version":
        from spdnorm import __version__

        print(f"spdnorm {__version__}")
        return
    if command not in SUBCOMMANDS:
        _usage(command)
        return
    try:
        app = importlib.import_module(SUBCOMMANDS[command][0]).app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "spdnorm":
            raise
        sys.exit(_MISSING.format(name=error.name))
    app(given[1:], prog_name=f"spdnorm {command}")


def _usage(command: str) -> None:
    lines = ["usage: spdnorm COMMAND [ARGUMENTS]", "", "commands:"]
    lines += [f"  {name:<10} {purpose}" for name, (_, purpose) in SUBCOMMANDS.items()]
    lines += ["", "spdnorm COMMAND --help says more; spdnorm --version prints the version."]
    text = "\n".join(lines)
    if command in ("", "-h", "--help"):
        print(text)
    else:
        sys.exit(f"error: there is no command {command!r}\n\n{text}")
