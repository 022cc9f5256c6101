"""Divided differences and Frechet derivatives against 50-digit arithmetic, for gaps from 1 down to 0."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import pytest
import torch

from oracles import multiprecision as exact
from spdnorm.linalg import (
    ABS,
    EXP,
    INV_SQRT,
    INVERSE,
    LOG,
    PSEUDO_INV_SQRT,
    SQRT,
    Clamp,
    Power,
    SpectralFunction,
    derivative,
    divided_differences,
    symmetrize,
)
from spdnorm.testing import tangents

Scalar = Callable[[mp.mpf], mp.mpf]


def _power(t: float) -> tuple[Scalar, Scalar]:
    return (lambda v: mp.power(v, mp.mpf(t))), (lambda v: mp.mpf(t) * mp.power(v, mp.mpf(t) - 1))


FUNCTIONS: dict[str, tuple[SpectralFunction, Scalar, Scalar]] = {
    "log": (LOG, mp.log, lambda v: 1 / v),
    "exp": (EXP, mp.exp, mp.exp),
    "sqrt": (SQRT, *_power(0.5)),
    "inv_sqrt": (INV_SQRT, *_power(-0.5)),
    "pseudo_inv_sqrt": (PSEUDO_INV_SQRT, *_power(-0.5)),
    "inverse": (INVERSE, *_power(-1.0)),
    "power 1/4": (Power(0.25), *_power(0.25)),
    "power 3.7": (Power(3.7), *_power(3.7)),
    "power 2": (Power(2.0), *_power(2.0)),
    "power -1.5": (Power(-1.5), *_power(-1.5)),
    "abs": (ABS, abs, mp.sign),
}
GAPS = [1.0, 0.3, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14, 2.0**-52, 0.0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("base", [1.0, 3e-7, 40.0])
def test_first_difference(name: str, base: float) -> None:
    function, f, df = FUNCTIONS[name]
    for gap in GAPS:
        a, b = base, base * (1 + gap)
        values = torch.tensor([a, b], dtype=torch.float64)
        ours = float(divided_differences(function, values, 1)[0, 1])
        truth = exact.divided(f, df, mp.mpf(a), mp.mpf(b))
        assert abs(ours - truth) <= 2e-14 * abs(truth), f"gap {gap:g}: {ours} against {mp.nstr(truth, 20)}"


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("gap", GAPS)
def test_frechet_derivative(name: str, gap: float) -> None:
    """Df(X)[H] for matrices whose eigenvalues are ``gap`` apart: 1e-6 is required, 1e-13 is what there is."""
    function, f, df = FUNCTIONS[name]
    values = torch.tensor([0.5, 0.5 * (1 + gap), 0.5 * (1 + gap), 2.0], dtype=torch.float64)
    generator = torch.Generator().manual_seed(3)
    q = torch.linalg.qr(torch.randn(4, 4, generator=generator, dtype=torch.float64)).Q
    x, h = symmetrize((q * values) @ q.mT), tangents(4, seed=4)
    truth = exact.to_torch(exact.differential(exact.to_mp(x), exact.to_mp(h), f, df))
    for ours in (derivative(x, function, h), _by_autograd(x, function, h)):
        error = float(torch.linalg.matrix_norm(ours - truth) / torch.linalg.matrix_norm(truth))
        assert error < 1e-13


def _by_autograd(x: torch.Tensor, function: SpectralFunction, h: torch.Tensor) -> torch.Tensor:
    # The derivative of a function of a symmetric matrix is self-adjoint: a vector-Jacobian product gives it too.
    from spdnorm.linalg import matrix_function

    leaf = x.clone().requires_grad_()
    return torch.autograd.grad((matrix_function(leaf, function) * h).sum(), leaf)[0]


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "abs"])
def test_second_difference(name: str) -> None:
    """f[a, b, c] with any pair or all three close: the second derivative's coefficients."""
    function, f, df = FUNCTIONS[name]
    for first in GAPS:
        for second in (1.0, 1e-3, 1e-7, 1e-12, 0.0):
            points = [0.7, 0.7 * (1 + first), 0.7 * (1 + first) * (1 + second)]
            ours = float(divided_differences(function, torch.tensor(points, dtype=torch.float64), 2)[0, 1, 2])
            truth = _second(f, df, [mp.mpf(p) for p in points])
            # The quadratic's is 1, the others' are of the size of f'' / 2 there.
            assert abs(ours - truth) <= 1e-9 * abs(truth), f"gaps {first:g}, {second:g}: {ours}"


def _second(f: Scalar, df: Scalar, points: list[mp.mpf]) -> mp.mpf:
    a, b, c = sorted(points)
    if c - a <= mp.mpf(10) ** -20:
        return mp.diff(df, (a + c) / 2) / 2
    return (exact.divided(f, df, b, c) - exact.divided(f, df, a, b)) / (c - a)


def test_sign_change_of_the_fold() -> None:
    """|x| across 0: the divided difference is (a + b) / (|a| + |b|)."""
    values = torch.tensor([-2.0, -1e-9, 0.0, 3e-9, 1.0], dtype=torch.float64)
    ours = divided_differences(ABS, values, 1)
    for i, a in enumerate(values.tolist()):
        for j, b in enumerate(values.tolist()):
            truth = (abs(a) - abs(b)) / (a - b) if a != b else float(mp.sign(a))
            assert ours[i, j].item() == pytest.approx(truth, rel=1e-14, abs=1e-14)


def test_clamp() -> None:
    """max(x, m): 1 above, 0 below, the chord across."""
    values = torch.tensor([0.1, 0.5, 0.9, 1.7, 2.0], dtype=torch.float64)
    function = Clamp(1.0)
    ours = divided_differences(function, values, 1)
    clamped = values.clamp_min(1.0)
    for i in range(5):
        for j in range(5):
            if i == j:
                assert ours[i, j] == float(values[i] > 1.0)
            else:
                assert ours[i, j].item() == pytest.approx(float((clamped[i] - clamped[j]) / (values[i] - values[j])))


def test_float32_keeps_float32_digits() -> None:
    for name, (function, f, df) in FUNCTIONS.items():
        for gap in GAPS:
            values = torch.tensor([1.0, 1.0 + gap], dtype=torch.float32)
            ours = float(divided_differences(function, values, 1)[0, 1])
            truth = exact.divided(f, df, mp.mpf(float(values[0])), mp.mpf(float(values[1])))
            assert abs(ours - truth) <= 5e-6 * abs(truth), name
