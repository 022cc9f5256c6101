"""Hostile matrices: a fixed sample here, a million in ``make test-full``, and what they have found before."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.oracle import LAYERS, THETA, error

from spdnorm.testing.fuzz import KINDS, TARGETS, Case, Report, draw, fuzz, matrices, runner
from spdnorm.testing.fuzz.bounds import error_bound
from spdnorm.testing.fuzz.properties import spd
from spdnorm.testing.fuzz.runner import check


def assert_clean(report: Report) -> None:
    assert not report.violations, "\n".join(report.violations[:20])


def test_a_fixed_sample():
    report = fuzz(12_000, start=40)
    assert_clean(report)
    assert len(report.tried) == len(TARGETS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("share", [0, 1])
def test_a_million(share):
    report = fuzz(500_000, start=share, step=2)
    assert_clean(report)
    assert report.matrices >= 500_000


cases = st.builds(
    Case,
    seed=st.integers(0, 2**31),
    n=st.integers(1, 12),
    batch=st.integers(1, 16),
    dtype=st.sampled_from((torch.float32, torch.float64)),
    kind=st.sampled_from(KINDS),
    condition=st.floats(0, 15).map(lambda e: 10.0**e),
    scale=st.floats(-12, 12).map(lambda e: 10.0**e),
)


@given(name=st.sampled_from(sorted(TARGETS)), case=cases)
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_properties_on_small_cases(name, case):
    report = Report()
    if not (name.startswith("layer residual") and case.batch * case.n == 1):
        check(name, case, report)
    assert_clean(report)


#: What the fuzzer found, as drawn.
FOUND = [
    # A bias that M^-1/2 . M^-1/2 makes indefinite by rounding, and its root.
    ("norm gbw", 1288),
    ("norm gbw", 5544),
    ("norm gbw", 5684),
    # Singular in float32: an overflow in exp, and NaN from there on.
    ("norm spdm", 227),
    ("norm spdm", 479),
    ("norm manifold-aim", 2720),
    ("metric aim", 93),
    # The same bias, where the steps are not fused.
    ("norm gbw-reference", 300842),
    # A result beyond the dtype's range: infinities instead of an error.
    ("extreme lie-lem", 112),
    ("extreme gbw-learnable-theta", 184),
    ("extreme spdm", 458),
    ("extreme lie-aim-eigen", 224),
    # Logarithms of nearly equal points, and what is transported far, were not symmetric.
    ("metric lem", 121),
    ("metric lem", 143),
    ("metric lem", 983),
]


@pytest.mark.parametrize(("name", "seed"), FOUND)
def test_found_before(name, seed):
    report = Report()
    check(name, draw(seed), report)
    assert_clean(report)


def test_an_overflow_is_an_error_that_says_what_to_do():
    """Not LAPACK's "failed to converge", and never a silent NaN."""
    x = torch.full((1, 3, 3), float("nan"))
    from spdnorm.linalg import eigh

    with pytest.raises(ValueError, match=r"have left the range of torch\.float32"):
        eigh(x)


def test_violations_are_reported_with_their_seed(monkeypatch):
    monkeypatch.setitem(TARGETS, "upside down", lambda case: spd("output", -matrices(case)))
    monkeypatch.setitem(TARGETS, "broken", lambda case: (_ for _ in ()).throw(RuntimeError("boom")))
    monkeypatch.setattr(runner, "TAKES_SINGULAR", frozenset())
    report = fuzz(1, start=3, targets=["upside down"])
    assert "least eigenvalue" in report.violations[0]
    assert "seed=3" in report.violations[0]
    assert "RuntimeError: boom" in fuzz(1, targets=["broken"]).violations[0]


def test_cases_are_what_they_say():
    for kind in KINDS:
        case = Case(seed=5, n=6, batch=9, dtype=torch.float64, kind=kind, condition=1e6, scale=1e3)
        values = torch.linalg.eigvalsh(matrices(case))
        assert torch.equal(matrices(case), matrices(case))
        assert not torch.equal(matrices(case), matrices(case, stream=1)) or kind == "identity"
        assert values.amax().item() <= 1e3 * (1 + 1e-9)
        assert case.definite == (kind != "boundary")
        if kind in ("generic", "blocks", "diagonal", "one_far", "ties"):
            assert values[:, 0].min().item() == pytest.approx(1e-3, rel=1e-5)
        if kind == "boundary":
            assert (values[:, 0] < 1e-9).all()
    sizes = [draw(seed) for seed in range(3000)]
    assert {c.n for c in sizes} >= {1, 2, 128}
    assert max(c.batch for c in sizes) == 512
    assert max(c.condition for c in sizes) > 1e14


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_errors_against_50_digits(name, dtype):
    for exponent in (1, 3) if dtype == torch.float32 else (1, 6, 11):
        case = Case(seed=exponent, n=3, batch=4, dtype=dtype, kind="generic", condition=10.0**exponent, scale=1.0)
        bound = error_bound(case, theta=THETA.get(name, 1.0))
        assert bound < math.inf
        assert error(name, case) <= bound, (name, exponent)
