"""Every code block of README, CONTRIBUTING and the documentation runs, or names commands and options that exist."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import torch
from code_blocks import ROOT, blocks, check_command, commands, pages

from spdnorm.datasets import MissingDataError
from spdnorm.experiments import Recipe

PAGES = [path for path in pages() if blocks(path)]


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPDNORM_DATA", str(data_folder(tmp_path)))
    names: dict[str, object] = {"__name__": "example"}
    torch.manual_seed(0)
    missing = None
    for block in blocks(path):
        where = f"{path.relative_to(ROOT)}:{block.line}"
        if block.language == "python":
            try:
                exec(compile(block.text, where, "exec"), names)
            except MissingDataError as error:
                missing = f"{where}: {error}"
                break
        elif block.language in ("console", "sh", "bash", "shell"):
            for command in commands(block):
                check_command(command)
        elif block.language == "toml":
            tree = tomllib.loads(block.text)
            if "rows" in tree:
                assert Recipe.model_validate(tree).entries()
    if missing:
        pytest.skip(missing)


def data_folder(fallback: Path) -> Path:
    """Real data, where there are any: a block that needs others skips."""
    shared = ROOT.parent / "shared" / "data"
    return shared if shared.is_dir() else fallback


def test_every_block_says_what_it_is() -> None:
    known = {"python", "console", "sh", "bash", "shell", "toml", "bibtex", "text", "json", "yaml", "mermaid", ""}
    unknown = {
        f"{path.relative_to(ROOT)}:{block.line}: {block.language}"
        for path in PAGES
        for block in blocks(path)
        if block.language not in known and not block.language.startswith("{")
    }
    assert not unknown


@pytest.mark.parametrize(
    "line", ["make nothing", "spdnorm frobnicate", "spdnorm report --no-such-option", "pip install '.[x]'"]
)
def test_a_wrong_command_is_found(line: str) -> None:
    from code_blocks import Block

    (command,) = commands(Block("console", f"$ {line}\n", 1))
    with pytest.raises(BaseException, match=r"no target|no command|[Nn]o such option|no extra"):
        check_command(command)
