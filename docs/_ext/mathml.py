"""A Sphinx math renderer that writes MathML: pages need neither a network nor JavaScript to show equations.

Browsers set them in the reader's own mathematical font; for machines without one STIX travels along, out of matplotlib.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import matplotlib
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)


def to_mathml(latex: str, node: nodes.Element, *, display: bool) -> str:
    """MathML of ``latex``; what cannot be converted is a warning, hence an error in a build with -W."""
    try:
        mathml = convert(latex.strip(), display="block" if display else "inline")
    except Exception as error:
        logger.warning("cannot convert to MathML (%s): %s", error, latex, location=node)
        return f"<code>{latex}</code>"
    # latex2mathml passes a command that it does not know through as text.
    if "<mtext>\\" in mathml or "<mi>\\" in mathml:
        logger.warning("LaTeX command unknown to latex2mathml: %s", latex, location=node)
    return mathml


def visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(f'<span class="math">{to_mathml(node.astext(), node, display=False)}</span>')
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    if node["number"]:
        number = get_node_equation_number(self, node)
        self.body.append(f'<span class="eqno">({number})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(to_mathml(node.astext(), node, display=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def copy_font(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
        target = Path(app.outdir) / "_static" / "fonts"
        target.mkdir(exist_ok=True)
        for name in ("STIXGeneral.ttf", "LICENSE_STIX"):
            shutil.copyfile(fonts / name, target / name)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", copy_font)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
