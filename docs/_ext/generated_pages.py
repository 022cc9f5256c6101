"""Pages made from the code when the site is built: one for each room of the API, and the changelog.

They are written into docs/api and docs/changelog.md, which git ignores: nothing has to be kept in step by hand.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOMS = (
    "nn",
    "functional",
    "functional.kernels",
    "geometry",
    "models",
    "optim",
    "estimators",
    "datasets",
    "experiments",
    "figures",
    "stats",
    "linalg",
    "testing",
)


def _page(room: str) -> str:
    name = f"spdnorm.{room}"
    module = importlib.import_module(name)
    summary = (inspect.getdoc(module) or "").strip()
    public = list(getattr(module, "__all__", []))
    objects = [n for n in public if inspect.isclass(getattr(module, n)) or inspect.isroutine(getattr(module, n))]
    errors = [n for n in objects if _is_error(getattr(module, n))]
    classes = [n for n in objects if inspect.isclass(getattr(module, n)) and n not in errors]
    functions = [n for n in objects if n not in classes and n not in errors]
    constants = [n for n in public if n not in objects]
    lines = [name, "=" * len(name), "", f".. py:module:: {name}", "", summary, ""]
    for title, names in (("Classes", classes), ("Functions", functions), ("Errors", errors)):
        if names:
            lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: generated", "   :nosignatures:", ""]
            lines += [f"   {name}.{n}" for n in sorted(names)]
            lines.append("")
    if constants:
        lines += ["Constants", "---------", "", *(f"- ``{n}``" for n in sorted(constants)), ""]
    return "\n".join(lines)


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _write(path: Path, text: str) -> None:
    # An unchanged file keeps its time stamp, so that Sphinx reads again only what is new.
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write(app: Sphinx) -> None:
    source = Path(app.srcdir)
    for room in ROOMS:
        _write(source / "api" / f"{room}.rst", _page(room))
    toctree = "\n".join(f"   {room}" for room in ROOMS)
    title = "API reference"
    intro = "Every public name, from its docstring. The examples take ``import torch`` and ``import numpy as np`` as done."
    _write(
        source / "api" / "index.rst", f"{title}\n{'=' * len(title)}\n\n{intro}\n\n.. toctree::\n   :maxdepth: 1\n\n{toctree}\n"
    )
    _write(source / "changelog.md", (source.parent / "CHANGELOG.md").read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, Any]:
    # Before autosummary looks for the pages that it has to make.
    app.connect("builder-inited", write, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
