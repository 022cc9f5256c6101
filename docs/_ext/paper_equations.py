"""The paper's equations beside the functions that compute them, from _data/equations.toml.

``{paper-equation} KEY ...`` prints equations with links; ``{paper-equation-table}`` prints all of them as a table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

DATA = Path(__file__).parents[1] / "_data" / "equations.toml"
PAGE = "theory/equations"


def load() -> list[dict[str, Any]]:
    return tomllib.loads(DATA.read_text(encoding="utf-8"))["equation"]


def label(entry: dict[str, Any]) -> str:
    return f"Eq. ({entry['number']})" if entry["number"] else entry["where"]


def anchor(entry: dict[str, Any]) -> str:
    return f"paper-{nodes.make_id(entry['key'])}"


def links(functions: Iterable[str], docname: str) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    for name in functions:
        target = f"spdnorm.{name}"
        reference = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refdoc=docname, refexplicit=True, refwarn=True
        )
        reference += nodes.literal(text=".".join(name.split(".")[-2:]) if name[0].islower() else name)
        found += [nodes.Text(", "), reference] if found else [reference]
    return found


class PaperEquation(SphinxDirective):
    """Equations by key, each with its number and the functions that compute it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        known = {entry["key"]: entry for entry in load()}
        out: list[nodes.Node] = []
        for key in (line.strip() for line in self.content if line.strip()):
            if key not in known:
                raise self.error(f"no equation {key!r} in {DATA.name}")
            out += self.one(known[key])
        return out

    def one(self, entry: dict[str, Any]) -> list[nodes.Node]:
        latex = entry["latex"]
        caption = nodes.paragraph(classes=["paper-equation"])
        caption += nodes.strong(text=f"{entry['title']} ({label(entry)})")
        if entry["functions"]:
            caption += nodes.Text(": ")
            caption.extend(links(entry["functions"], self.env.docname))
        if entry.get("note"):
            caption += nodes.Text(f". {entry['note']}")
        return [nodes.math_block(latex, latex, nowrap=False, number=None), caption]


class PaperEquationTable(SphinxDirective):
    """All equations: number, what it is, the equation, the functions."""

    def run(self) -> list[nodes.Node]:
        table = nodes.table(classes=["paper-equations"])
        group = nodes.tgroup(cols=4)
        table += group
        group.extend(nodes.colspec(colwidth=width) for width in (8, 20, 44, 28))
        head, body = nodes.thead(), nodes.tbody()
        head += self.row([nodes.paragraph(text=text) for text in ("Number", "What", "Equation", "Function")])
        for entry in load():
            number = nodes.paragraph(text=str(entry["number"]) if entry["number"] else entry["where"])
            what = nodes.paragraph(text=entry["title"])
            equation = nodes.paragraph()
            equation += nodes.math(entry["latex"], entry["latex"])
            functions = nodes.paragraph()
            functions.extend(links(entry["functions"], self.env.docname) or [nodes.Text(entry["note"])])
            body += self.row([number, what, equation, functions], anchor(entry))
        group += [head, body]
        return [table]

    @staticmethod
    def row(cells: list[nodes.paragraph], identifier: str | None = None) -> nodes.row:
        row = nodes.row(ids=[identifier] if identifier else [])
        for cell in cells:
            entry = nodes.entry()
            entry += cell
            row += entry
        return row


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("paper-equation", PaperEquation)
    app.add_directive("paper-equation-table", PaperEquationTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
