"""Pages made when the site is built: one for each room of the API, the changelog, measured pages, the cone.

They are written into docs/api, docs/changelog.md, docs/accuracy/index.md and docs/figures/ill-condition.html, which git
ignores: nothing has to be kept in step by hand.
"""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from spdnorm.experiments import Store
from spdnorm.figures import Request, make_figure

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
    lines = [name, "=" * len(name), "", f".. module:: {name}", "", summary, "", f".. currentmodule:: {name}", ""]
    for title, names in (("Classes", classes), ("Functions", functions), ("Errors", errors)):
        if names:
            lines += [
                title,
                "-" * len(title),
                "",
                ".. autosummary::",
                "   :toctree: generated",
                "   :nosignatures:",
                "",
            ]
            lines += [f"   {n}" for n in sorted(names)]
            lines.append("")
    if constants:
        lines += ["Constants", "---------", "", *(f"- ``{n}``" for n in sorted(constants)), ""]
    return "\n".join(lines)


def _measured(source: Path) -> str:
    """Accuracy, speed and results: whatever pages there are that no other list has."""
    placed = {"index", "getting_started", "faq", "changelog", "datasets"}
    pages = [p.stem for p in sorted(source.glob("*.md")) if p.stem not in placed]
    pages += [
        f"{p.parent.name}/{p.stem}"
        for folder in ("figures", "results")
        for p in sorted(source.glob(f"{folder}/*.md"))
        # Tables of results hang on their own page.
        if folder != "results" or p.stem == "README"
    ]
    entries = ["numerics", "reproducibility", *(f"../{page}" for page in pages)]
    toctree = "\n".join(entries)
    return f"# Accuracy, speed and results\n\n```{{toctree}}\n:maxdepth: 1\n\n{toctree}\n```\n"


def _is_error(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Exception)


def _write(path: Path, text: str) -> None:
    # An unchanged file keeps its time stamp, so that Sphinx reads again only what is new.
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _remove_stale(generated: Path) -> None:
    """Remove the pages of names that are public no more."""
    public = {f"spdnorm.{room}.{n}" for room in ROOMS for n in importlib.import_module(f"spdnorm.{room}").__all__}
    for page in generated.glob("*.rst"):
        if page.stem not in public:
            page.unlink()


def write(app: Sphinx, config: Config) -> None:
    source = Path(app.srcdir)
    _remove_stale(source / "api" / "generated")
    for room in ROOMS:
        _write(source / "api" / f"{room}.rst", _page(room))
    toctree = "\n".join(f"   {room}" for room in ROOMS)
    title = "API reference"
    intro = (
        "Every public name, from its docstring. The examples take ``import torch`` and ``import numpy as np`` as done."
    )
    _write(
        source / "api" / "index.rst",
        f"{title}\n{'=' * len(title)}\n\n{intro}\n\n.. toctree::\n   :maxdepth: 1\n\n{toctree}\n",
    )
    _write(source / "accuracy" / "index.md", _measured(source))
    _, cone = make_figure("ill-condition", Request(store=Store(source)))
    _write(source / "figures" / "ill-condition.html", cone.files[".html"].decode())
    _write(source / "changelog.md", (source.parent / "CHANGELOG.md").read_text(encoding="utf-8"))


def setup(app: Sphinx) -> dict[str, Any]:
    # Before Sphinx looks which pages there are.
    app.connect("config-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
