"""Normalisation in 50 digits, from the textbook formulas, and the layers' errors against it."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import torch
from tests.oracles import multiprecision as exact

from spdnorm.nn import RiemannianBatchNorm
from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import relative_error
from spdnorm.testing.fuzz.targets import NORMS

Matrix = mp.matrix

#: Of the exponents used below.
THETA = {"gbw, theta 1/2": 0.5}
LAYERS: dict[str, Callable[..., RiemannianBatchNorm]] = {
    "gbw": NORMS["gbw"],
    "gbw, theta 1/2": lambda n, **o: NORMS["gbw"](n, theta=0.5, **o),
    "spd": NORMS["spd"],
    "spdm": NORMS["spdm"],
    "lie-lem": NORMS["lie-lem"],
    "lie-lcm": NORMS["lie-lcm"],
}


def average(xs: list[Matrix]) -> Matrix:
    total = mp.zeros(xs[0].rows)
    for x in xs:
        total += x
    return total / len(xs)


def in_eigenbasis(at: Matrix, x: Matrix, weigh: Callable[[mp.mpf, mp.mpf], mp.mpf]) -> Matrix:
    """The operator that multiplies entries by ``weigh(l_i, l_j)`` in the eigenbasis of ``at``."""
    values, v = exact.eig(at)
    w = v.T * x * v
    n = x.rows
    return v * mp.matrix([[weigh(values[i], values[j]) * w[i, j] for j in range(n)] for i in range(n)]) * v.T


def bures_wasserstein(xs: list[Matrix], theta: float, scale: float, eps: float) -> list[Matrix]:
    """Paper, Alg. 1 with M = G = I: one step to the barycentre, centre, scale."""
    metric, identity = exact.BuresWasserstein(), mp.eye(xs[0].rows)
    hats = [exact.power(x, theta) for x in xs]
    start = average(hats)
    root = exact.sqrt(start)
    pulled, inverse = average([exact.sqrt(root * x * root) for x in hats]), exact.inv(root)
    centre = exact.sym(inverse * pulled * pulled * inverse)
    variance = mp.fsum(metric.distance(centre, x) ** 2 for x in hats) / len(hats) / mp.mpf(theta) ** 2
    factor = scale / mp.sqrt(variance + eps)
    out = []
    for x in hats:
        moved = in_eigenbasis(centre, metric.log(centre, x), lambda a, b: mp.sqrt(2 / (a + b)))
        centred = metric.exp(identity, moved)
        scaled = metric.exp(identity, factor * metric.log(identity, centred))
        out.append(exact.power(exact.sym(scaled), 1 / theta))
    return out


def affine_invariant(xs: list[Matrix], scale: float, eps: float, *, variance: bool) -> list[Matrix]:
    """SPDBN and SPDMBN with G = I: one Karcher step from the arithmetic mean, whitening, a power."""
    start = average(xs)
    root = exact.sqrt(start)
    inverse = exact.inv(root)
    step = average([exact.log(inverse * x * inverse) for x in xs])
    whiten = exact.inv(exact.sqrt(exact.sym(root * exact.exp(step) * root)))
    logs = [exact.log(whiten * x * whiten) for x in xs]
    factor = mp.mpf(1)
    if variance:
        factor = scale / mp.sqrt(mp.fsum(exact.trace(u * u) for u in logs) / len(logs) + eps)
    return [exact.exp(factor * u) for u in logs]


def flat(
    xs: list[Matrix], chart: Callable[[Matrix], Matrix], back: Callable[[Matrix], Matrix], scale: float, eps: float
) -> list[Matrix]:
    """LieBN with G = I under a metric that is Euclidean in a chart."""
    points = [chart(x) for x in xs]
    centre = average(points)
    moved = [p - centre for p in points]
    size = mp.fsum(u[i, j] ** 2 for u in moved for i in range(u.rows) for j in range(u.cols)) / len(moved)
    return [back(scale / mp.sqrt(size + eps) * u) for u in moved]


def normalised(name: str, xs: list[Matrix], scale: float, eps: float) -> list[Matrix]:
    if name.startswith("gbw"):
        return bures_wasserstein(xs, THETA.get(name, 1.0), scale, eps)
    if name in ("spd", "spdm"):
        return affine_invariant(xs, scale, eps, variance=name == "spdm")
    if name == "lie-lem":
        return flat(xs, exact.log, exact.exp, scale, eps)
    metric = exact.LogCholesky()
    return flat(xs, metric.chart, metric.unchart, scale, eps)


def error(name: str, case: Case) -> float:
    """Largest relative error of a sample that the layer, in training, makes on the case."""
    layer = LAYERS[name](case.n, dtype=case.dtype)
    x = matrices(case)
    with torch.no_grad():
        found = layer(x)
    exactly = normalised(name, [exact.to_mp(m) for m in x.double()], 1.0, mp.mpf(layer.eps))
    return relative_error(found, torch.stack([exact.to_torch(y) for y in exactly])).max().item()
