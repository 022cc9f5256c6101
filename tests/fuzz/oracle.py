"""Normalisation in 50 digits, from the textbook formulas, and the layers' errors against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath as mp
import torch
from tests.oracles import multiprecision as exact

from spdnorm.nn import RiemannianBatchNorm
from spdnorm.nn.constraints import assign
from spdnorm.testing import spd_matrices
from spdnorm.testing.fuzz.bounds import WELL_CONDITIONED
from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import relative_error
from spdnorm.testing.fuzz.targets import NORMS

Matrix = mp.matrix

#: Of the exponents used below.
THETA = {"gbw, theta 1/2": 0.5}


def with_parameters(n: int, **options: Any) -> RiemannianBatchNorm:
    """GBWBN with M and G as badly conditioned as the bound allows."""
    layer = NORMS["gbw"](n, **options)
    for name, seed in (("metric", 5), ("bias", 6)):
        value = spd_matrices(n, condition=WELL_CONDITIONED, seed=seed).to(getattr(layer, name))
        assign(layer, name, value)
    return layer


LAYERS: dict[str, Callable[..., RiemannianBatchNorm]] = {
    "gbw": NORMS["gbw"],
    "gbw, M and G": with_parameters,
    "gbw, theta 1/2": lambda n, **o: NORMS["gbw"](n, theta=0.5, **o),
    "spd": NORMS["spd"],
    "spdm": NORMS["spdm"],
    "lie-aim": NORMS["lie-aim"],
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


def bures_wasserstein(
    xs: list[Matrix], theta: float, scale: float, eps: float, m: Matrix | None = None, g: Matrix | None = None
) -> list[Matrix]:
    """Paper, Alg. 1: one step to the barycentre, centre, scale, bias."""
    metric, identity = exact.BuresWasserstein(), mp.eye(xs[0].rows)
    outward = identity if m is None else exact.sqrt(m)
    inward = exact.inv(outward)

    def enter(x: Matrix) -> Matrix:
        return exact.sym(inward * exact.power(x, theta) * inward)

    hats = [enter(x) for x in xs]
    bias = identity if g is None else enter(g)
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
        towards = in_eigenbasis(bias, metric.log(identity, scaled), lambda a, b: mp.sqrt((a + b) / 2))
        biased = metric.exp(bias, towards)
        out.append(exact.power(exact.sym(outward * biased * outward), 1 / theta))
    return out


def karcher_step(xs: list[Matrix]) -> Matrix:
    """One affine-invariant step from the arithmetic mean."""
    root = exact.sqrt(average(xs))
    inverse = exact.inv(root)
    step = average([exact.log(inverse * x * inverse) for x in xs])
    return exact.sym(root * exact.exp(step) * root)


def affine_invariant(
    xs: list[Matrix], scale: float, eps: float, *, variance: bool, factor: Callable[[Matrix], Matrix] = exact.sqrt
) -> list[Matrix]:
    """SPDBN, SPDMBN and LieBN with G = I: the mean, whitening by the inverse of its ``factor``, a power."""
    whiten = exact.inv(factor(karcher_step(xs)))
    logs = [exact.log(exact.sym(whiten * x * whiten.T)) for x in xs]
    power = mp.mpf(1)
    if variance:
        power = scale / mp.sqrt(mp.fsum(exact.trace(u * u) for u in logs) / len(logs) + eps)
    return [exact.exp(power * u) for u in logs]


def flat(
    xs: list[Matrix], chart: Callable[[Matrix], Matrix], back: Callable[[Matrix], Matrix], scale: float, eps: float
) -> list[Matrix]:
    """LieBN with G = I under a metric that is Euclidean in a chart."""
    points = [chart(x) for x in xs]
    centre = average(points)
    moved = [p - centre for p in points]
    size = mp.fsum(u[i, j] ** 2 for u in moved for i in range(u.rows) for j in range(u.cols)) / len(moved)
    return [back(scale / mp.sqrt(size + eps) * u) for u in moved]


def normalised(name: str, layer: RiemannianBatchNorm, xs: list[Matrix]) -> list[Matrix]:
    scale, eps = 1.0, mp.mpf(layer.eps)
    if name == "gbw, M and G":
        m, g = (exact.to_mp(value.detach().double()) for value in (layer.metric, layer.bias))
        return bures_wasserstein(xs, 1.0, scale, eps, m, g)
    if name.startswith("gbw"):
        return bures_wasserstein(xs, THETA.get(name, 1.0), scale, eps)
    if name in ("spd", "spdm"):
        return affine_invariant(xs, scale, eps, variance=name == "spdm")
    if name == "lie-aim":
        return affine_invariant(xs, scale, eps, variance=True, factor=mp.cholesky)
    if name == "lie-lem":
        return flat(xs, exact.log, exact.exp, scale, eps)
    metric = exact.LogCholesky()
    return flat(xs, metric.chart, metric.unchart, scale, eps)


def error(name: str, case: Case) -> float:
    """Largest relative error of a sample that the layer, in training, makes on the case.

    NaN where rounding to the case's dtype has made a sample indefinite, or where the layer refuses the case.
    """
    layer = LAYERS[name](case.n, dtype=case.dtype)
    x = matrices(case)
    samples = [exact.to_mp(m) for m in x.double()]
    if min(min(exact.eig(m)[0]) for m in samples) <= 0:
        return math.nan
    try:
        with torch.no_grad():
            found = layer(x)
    except ValueError:
        return math.nan
    exactly = normalised(name, layer, samples)
    return relative_error(found, torch.stack([exact.to_torch(y) for y in exactly])).max().item()
