"""Messages for bad input, the switch of the checks, the choice of an eigensolver."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
import torch
from torch import Tensor

from spdnorm import linalg
from spdnorm.linalg import checks, eigh_backend
from spdnorm.linalg.eigh import _backends
from spdnorm.testing import spd_matrices


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (torch.ones(3, dtype=torch.float64), ValueError, r"`x` must have shape \(\.\.\., n, n\), got \(3,\)"),
        (torch.ones(2, 3, dtype=torch.float64), ValueError, r"got \(2, 3\)"),
        (torch.eye(3, dtype=torch.int64), TypeError, r"call \.to\(torch\.float64\)"),
        (torch.eye(3, dtype=torch.complex128), TypeError, "real floating point"),
        ([[1.0]], TypeError, r"torch\.as_tensor"),
        (-torch.eye(3, dtype=torch.float64), ValueError, "positive definite, its least eigenvalue is -1"),
    ],
)
def test_refused(bad: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        linalg.logm(bad)  # type: ignore[arg-type]


def test_definiteness_is_asked_for_as_the_function_needs_it() -> None:
    singular = torch.diag(torch.tensor([0.0, 1.0], dtype=torch.float64))
    linalg.sqrtm(singular)
    for function in (linalg.logm, linalg.invm, linalg.inv_sqrtm, lambda x: linalg.powm(x, -0.5)):
        with pytest.raises(ValueError, match="positive definite"):
            function(singular)
    with pytest.raises(ValueError, match="semi-definite"):
        linalg.sqrtm(-torch.eye(2, dtype=torch.float64))
    linalg.expm(-torch.eye(2, dtype=torch.float64))
    with pytest.raises(ValueError, match="`x` must be positive definite, its Cholesky"):
        linalg.to_log_cholesky(singular)


def test_symmetric_check() -> None:
    good = spd_matrices(3)
    linalg.check_symmetric(good + 1e-12 * torch.randn(3, 3, dtype=torch.float64), "x")
    skewed = good.clone()
    skewed[0, 1] += 1e-3
    with pytest.raises(ValueError, match=r"`m` is not symmetric .* pass 0\.5 \* \(x \+ x\.mT\)"):
        linalg.check_symmetric(skewed, "m")
    for value in (float("nan"), float("inf")):
        broken = good.clone()
        broken[1, 1] = value
        with pytest.raises(ValueError, match="NaN or infinite"):
            linalg.check_symmetric(broken, "x")
    # Scale does not matter, an absolute tolerance would fail one of these.
    for scale in (1e-12, 1e12):
        linalg.check_symmetric(scale * good, "x")
        with pytest.raises(ValueError, match="not symmetric"):
            linalg.check_symmetric(scale * skewed, "x")


def test_checks_can_be_switched() -> None:
    negative = -torch.eye(2, dtype=torch.float64)
    with checks(False):
        assert torch.isnan(linalg.logm(negative)).any()
        with checks(True), pytest.raises(ValueError, match="positive definite"):
            linalg.logm(negative)
        assert not linalg.checks_active(negative)
    assert linalg.checks_active(negative)
    with pytest.raises(ValueError, match="shape"), checks(False):
        linalg.logm(torch.ones(3, dtype=torch.float64))
    assert not linalg.checks_active(torch.empty(1, device="meta"))
    seen = []
    torch.func.vmap(lambda x: seen.append(linalg.checks_active(x)) or x)(negative.unsqueeze(0))
    assert seen == [False]


def test_switch_is_local_to_its_thread() -> None:
    negative = -torch.eye(2, dtype=torch.float64)
    seen = []
    with checks(False):
        thread = threading.Thread(target=lambda: seen.append(linalg.checks_active(negative)))
        thread.start()
        thread.join()
    assert seen == [True]


def test_backends() -> None:
    x = spd_matrices(4, 3)
    calls = []

    def recording(m: Tensor) -> tuple[Tensor, Tensor]:
        calls.append(m.shape)
        values, vectors = torch.linalg.eigh(m)
        return values, vectors

    expected = linalg.logm(x)
    linalg.register_backend("recording", recording)
    try:
        assert "recording" in linalg.backends()
        with eigh_backend("recording"):
            torch.testing.assert_close(linalg.logm(x), expected)
            with eigh_backend("host"):
                torch.testing.assert_close(linalg.logm(x), expected)
        linalg.logm(x)
        assert calls == [x.shape]
    finally:
        del _backends["recording"]
    with (
        pytest.raises(ValueError, match=r"unknown eigh backend 'fast': choose one of .*host.*torch"),
        eigh_backend("fast"),
    ):
        pass


def test_one_way_to_an_eigendecomposition() -> None:
    """Nothing but the backends themselves calls a solver, so that a backend that is chosen is the one that runs."""
    package = Path(linalg.__file__).parents[1]
    found = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        # Not in an example, whose lines begin with >>> or dots.
        if re.search(r"^(?!\s*(>>>|\.\.\.)).*torch\.linalg\.eigh?\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert found == {"linalg/eigh.py", "linalg/threads.py"}


def test_empty_and_size_one() -> None:
    assert linalg.logm(torch.empty(0, 3, 3, dtype=torch.float64)).shape == (0, 3, 3)
    torch.testing.assert_close(linalg.logm(torch.full((2, 1, 1), 5.0)), torch.full((2, 1, 1), 5.0).log())
