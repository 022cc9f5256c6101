"""docs/geometry.md: operator x metric, the worst error against every oracle."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

import torch

from oracles import compare
from oracles.peers import bures_wasserstein_transport
from spdnorm.geometry import BuresWasserstein
from spdnorm.testing import spd_matrices, tangents

PATH = "docs/geometry.md"
CONDITIONS = (10.0, 1e8)
STEPS = (8, 16, 32, 64, 128)
TRANSPORT_CONDITIONS = (10.0, 1e2, 1e3, 1e4, 1e5)

HEAD = """# Geometries: accuracy

Written by `make tables` from the code; the digits change a little from machine to machine.

Worst relative error (Frobenius norm) over three random draws of 4 x 4 matrices in float64 at condition numbers 10 and
1e8. *exact* is an independent implementation in 50-digit arithmetic (`tests/oracles/multiprecision.py`); under
pyRiemann, geomstats and SciPy stands the difference from theirs and, where that exceeds 1e-8, in brackets the
peer's own error against the exact result: where the brackets hold the same number, the digits that differ are the
peer's. A dash: the oracle has no such operator, or (Bures-Wasserstein transport at condition numbers of X^theta above
1e4, here integrated in 256 steps) would take hours.

Conventions agree after the following: pyRiemann's affine-invariant maps are asked for with `Cm12=True` / `C12=True`
(else their tangent vectors are whitened); both peers put the tangent vector before the base point; geomstats' and our
Bures-Wasserstein inner product are both tr(L_X(U) V) / 2, for which X -> X^1/2 is an isometry onto the Euclidean metric
where everything commutes. The inner product is measured relative to the product of the lengths.

An inner product and a transport move a tangent vector by X^-1, whose entries are known to a few times
`condition number x 1e-16` only: some 1e-8 at 1e8. Distances, exponentials, logarithms, geodesics and means stay below
1e-8 there, because products of matrices are decomposed by the singular values of their factors. A negative power
inverts the data first, and has the accuracy of that inverse.
"""

TRANSPORT = """
## Bures-Wasserstein transport

Between points that commute the closed form is exact to rounding. Otherwise the transport is integrated along the
geodesic, on horizontal lifts and in a stretched time (`spdnorm/geometry/bw_transport.py`), by `transport_steps`
Runge-Kutta steps of fourth order. Worst relative error over six draws of 4 x 4 matrices against SciPy's adaptive
DOP853 at a tolerance of 3e-14:
"""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{max(value, 1e-17):.0e}"


def _cell(row: compare.Row, peer: str) -> str:
    gap = row.against_peer.get(peer)
    off = row.peer_against_truth.get(peer)
    return f"{_number(gap)} ({_number(off)})" if gap is not None and gap > 1e-8 and off is not None else _number(gap)


def rows() -> Iterator[list[str]]:
    """Cells of the table, line by line."""
    for name in compare.metrics():
        for operator in compare.OPERATORS:
            low, high = (compare.row(name, operator, c) for c in CONDITIONS)
            cells = [name, operator, _number(low.against_truth), _number(high.against_truth)]
            for peer in compare.PEERS:
                cells += [_cell(low, peer), _cell(high, peer)]
            yield cells


def header() -> list[str]:
    return ["metric", "operator"] + [f"{oracle}, {c:.0e}" for oracle in ("exact", *compare.PEERS) for c in CONDITIONS]


def transport_header() -> list[str]:
    return ["condition number", *(f"{s} steps" for s in STEPS)]


def transport_error(condition: float, steps: int) -> float:
    """Worst relative error of the integrated transport."""
    worst = 0.0
    for seed in range(6):
        x, y = spd_matrices(4, 2, seed=seed, condition=condition)
        u = tangents(4, seed=seed)
        metric = BuresWasserstein(transport_steps=steps, transport_method="integrate")
        truth = torch.from_numpy(bures_wasserstein_transport(x.numpy(), y.numpy(), u.numpy()))
        worst = max(worst, compare.relative(metric.transport(x, y, u), truth))
    return worst


def _table(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join(["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *lines)]) + "\n"


def render() -> str:
    lines = [[f"{c:.0e}", *(f"{transport_error(c, s):.0e}" for s in STEPS)] for c in TRANSPORT_CONDITIONS]
    return HEAD + "\n" + _table(header(), list(rows())) + TRANSPORT + "\n" + _table(transport_header(), lines)
