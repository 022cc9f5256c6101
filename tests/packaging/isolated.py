"""An environment that holds the wheel and knows nothing of the source tree."""

from __future__ import annotations

import importlib.metadata
import subprocess
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def run(*command: object, cwd: Path, fails: bool = False) -> str:
    """Standard output of a command that must succeed, or both outputs of one that must fail."""
    done = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True, timeout=500)
    assert (done.returncode != 0) == fails, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout + done.stderr if fails else done.stdout


@dataclass(frozen=True)
class Environment:
    """An interpreter of its own, started in an empty folder."""

    python: Path
    folder: Path

    def __call__(self, *arguments: object, fails: bool = False) -> str:
        # Isolated: neither PYTHONPATH nor the folder are searched, only the environment itself.
        return run(self.python, "-I", *arguments, cwd=self.folder, fails=fails)


def requirements(*roots: str) -> set[str]:
    """Names of installed distributions that these need, themselves included."""
    found: set[str] = set()
    todo = list(roots)
    while todo:
        name = todo.pop().lower().replace("_", "-")
        try:
            needs = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue
        if name in found:
            continue
        found.add(name)
        for requirement in map(Requirement, needs):
            extras = {"extra": ""}
            if requirement.marker is None or requirement.marker.evaluate(extras):
                todo.append(requirement.name)
    return found


def link(distributions: set[str], into: Path) -> None:
    """Links in ``into`` to what these distributions have installed, and to nothing else."""
    for name in distributions:
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or []:
            top = file.parts[0]
            # A folder that distributions share, like nvidia/, is linked whole: a link more does not hurt.
            if top not in ("..", "__pycache__") and not (into / top).exists():
                (into / top).symlink_to(Path(str(distribution.locate_file(top))))
