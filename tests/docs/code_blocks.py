"""The fenced blocks of a Markdown file, and what can be checked of each kind."""

from __future__ import annotations

import importlib
import re
import shlex
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+)(?P<language>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=fence)\s*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    text: str
    line: int


def blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    return [
        Block(match["language"].strip(), textwrap.dedent(match["text"]), text[: match.start()].count("\n") + 2)
        for match in _FENCE.finditer(text)
    ]


def pages() -> list[Path]:
    """README, CONTRIBUTING and every page of the documentation that is written by hand."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
    generated = ("_build", "api", "auto_examples")
    return sorted(p for p in found if not set(p.relative_to(ROOT).parts) & set(generated))


def commands(block: Block) -> list[list[str]]:
    """The commands of a console block, continued lines joined, prompts and comments removed."""
    lines = block.text.replace("\\\n", " ").splitlines()
    prompted = any(line.startswith("$ ") for line in lines)
    lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ") or not prompted]
    found = (shlex.split(line, comments=True) for line in lines)
    return [command for command in found if command]


def check_command(command: list[str]) -> None:
    """Raise unless a command of ours exists with these options; others are not ours to check."""
    while command and re.fullmatch(r"[A-Z_]+=\S*", command[0]):
        command = command[1:]
    if command[0] == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        for target in command[1:]:
            assert "=" in target or target in targets, f"make has no target {target!r}"
    elif command[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        for word in command[2:]:
            for extra in re.findall(r"\[(.*?)\]", word):
                assert set(extra.split(",")) <= set(extras), f"there is no extra {extra!r}"
    elif command[0] == "spdnorm" and len(command) > 1 and not command[1].startswith("-"):
        _parse(command[1:])
    elif command[0] == "python" and len(command) > 1 and command[1].endswith(".py"):
        known = (ROOT / command[1]).is_file() or "/" not in command[1] or "NAME" in command[1]
        assert known, f"there is no {command[1]}"


def _parse(arguments: list[str]) -> None:
    """Let typer parse the arguments, down to the sub-command, without running it."""
    import typer

    from spdnorm.cli import SUBCOMMANDS

    assert arguments[0] in SUBCOMMANDS, f"spdnorm has no command {arguments[0]!r}"
    command = typer.main.get_command(importlib.import_module(SUBCOMMANDS[arguments[0]][0]).app)
    rest = arguments[1:]
    while hasattr(command, "commands") and rest and rest[0] in command.commands:
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context("spdnorm", rest, resilient_parsing=False)
