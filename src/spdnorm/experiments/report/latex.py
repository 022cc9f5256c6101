"""Tables as LaTeX, for the packages booktabs and, where they are wide, graphicx."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .layout import Grid

__all__ = ["to_latex"]

_SYMBOLS = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "θ": r"$\theta$",
    "λ": r"$\lambda$",
    "κ": r"$\kappa$",
    "×": r"$\times$",
    "→": r"$\to$",
    "<": "$<$",
    ">": "$>$",
    "“": "``",
    "”": "''",
    **{digit: f"$^{i}$" for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    **{f"⁻{digit}": f"$^{{-{i}}}$" for i, digit in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}


#: Columns that a page takes; more are made smaller to fit.
_FIT = 6


def to_latex(grid: Grid, *, title: str, facts: Sequence[str], label: str) -> str:
    """Return a ``table`` environment; what has to be said with it follows as comments.

    A wide one is a ``table*``, shrunk to the width of the text.
    """
    wide = len(grid.header) > _FIT
    environment = "table*" if wide else "table"
    lines = [
        rf"\begin{{{environment}}}[t]",
        r"  \centering",
        *([r"  \resizebox{\textwidth}{!}{%"] if wide else []),
        rf"  \begin{{tabular}}{{l{'c' * len(grid.header)}}}",
        r"    \toprule",
        *_header(grid),
        r"    \midrule",
    ]
    for name, cells in zip(grid.labels, grid.body, strict=True):
        texts = [rf"\textbf{{{escape(cell.text)}}}" if cell.best else escape(cell.text) for cell in cells]
        lines.append("    " + " & ".join([escape(name), *texts]) + r" \\")
    lines += [
        r"    \bottomrule",
        r"  \end{tabular}" + "}" * wide,
        rf"  \caption{{{escape(title)}}}",
        rf"  \label{{{label}}}",
        rf"\end{{{environment}}}",
        *(f"% {' '.join(fact.split())}" for fact in facts),
    ]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return text with everything that LaTeX would read replaced."""
    out, position = [], 0
    while position < len(text):
        # A superscript minus belongs to the digit after it.
        pair, one = text[position : position + 2], text[position]
        if pair in _SYMBOLS:
            out.append(_SYMBOLS[pair])
            position += 2
        else:
            out.append(_SYMBOLS.get(one, one))
            position += 1
    return "".join(out)


def _header(grid: Grid) -> list[str]:
    own = "    " + " & ".join(["", *(escape(name) for _, name in grid.header)]) + r" \\"
    if not any(group for group, _ in grid.header):
        return [own.replace("    ", f"    {escape(grid.row_title)}", 1)]
    groups = [(name, len(list(members))) for name, members in groupby(grid.header, key=lambda entry: entry[0])]
    top = [rf"\multicolumn{{{count}}}{{c}}{{{escape(name)}}}" for name, count in groups]
    return ["    " + " & ".join([escape(grid.row_title), *top]) + r" \\", own]
