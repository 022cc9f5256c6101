"""Docstrings are written for people first: |x| and (*batch, n, n) mean what they say, not reStructuredText."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_LITERAL = re.compile(r"(``.*?``|:[a-z:]+:`.*?`)")
_PARAMETERS = re.compile(r"^\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?$")


def _escape(line: str) -> str:
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = _LITERAL.split(line)
    # Napoleon escapes the stars in the names of parameters itself.
    stars = not _PARAMETERS.match(line.strip())
    for i in range(0, len(parts), 2):
        parts[i] = parts[i].replace("|", r"\|")
        if stars:
            parts[i] = re.sub(r"(?<!\*)\*(?=[a-z])", r"\*", parts[i])
    return "".join(parts)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if name.startswith("spdnorm"):
        lines[:] = [_escape(line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    # Before napoleon (500), which adds markup of its own.
    app.connect("autodoc-process-docstring", process, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
