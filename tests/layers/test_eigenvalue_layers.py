"""ReEig and LogEig: values, gradients at equal eigenvalues and at the threshold, layouts."""

from __future__ import annotations

import pytest
import torch

from spdnorm.functional.logeig import ClampedLog, log_eigenvalues
from spdnorm.geometry import random_spd, random_symmetric
from spdnorm.linalg import vec
from spdnorm.nn import LogEig, ReEig


def with_values(values: list[float]) -> torch.Tensor:
    q = torch.linalg.qr(torch.randn(len(values), len(values), dtype=torch.float64, generator=gen(1))).Q
    return q @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ q.mT


def gen(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_rectification_raises_the_spectrum_and_leaves_the_rest() -> None:
    x = with_values([-1.0, 1e-6, 0.5, 2.0])
    y = ReEig(1e-2)(x)
    torch.testing.assert_close(torch.linalg.eigvalsh(y), torch.tensor([1e-2, 1e-2, 0.5, 2.0]).double())
    x = random_spd(4, 3, condition=5.0)
    torch.testing.assert_close(ReEig(1e-4)(x), x)


@pytest.mark.parametrize("values", [[0.001, 0.002, 0.5, 2.0], [0.5, 0.5, 0.5, 2.0], [1e-3, 1e-3, 1e-3, 1e-3]])
def test_gradients_of_both_layers_and_of_the_fused_one(values: list[float]) -> None:
    x = with_values(values)

    def sym(f):  # type: ignore[no-untyped-def]
        return lambda s: f(0.5 * (s + s.mT))

    for f in (ReEig(0.1), LogEig(), LogEig(threshold=0.1), LogEig(vectorize="full")):
        s = x.clone().requires_grad_()
        assert torch.autograd.gradcheck(sym(f), s, eps=1e-7, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_fused_logarithm_is_the_two_layers_one_after_the_other(dtype: torch.dtype) -> None:
    x = random_spd(6, 7, condition=1e5, generator=gen(0), dtype=dtype)
    x = x + 1e-4 * random_symmetric((7, 6, 6), generator=gen(2), dtype=dtype)
    g = torch.randn(7, 21, dtype=dtype, generator=gen(3))
    results = []
    for f in (lambda s: LogEig()(ReEig(0.05)(s)), LogEig(threshold=0.05)):
        s = x.clone().requires_grad_()
        y = f(s)
        (y * g).sum().backward()
        results.append((y.detach(), s.grad))
    # The two-layer way rebuilds the matrix in between and loses max(l) / threshold of the digits.
    tolerance = 2e-3 if dtype == torch.float32 else 1e-9
    torch.testing.assert_close(results[0], results[1], rtol=tolerance, atol=tolerance)


def test_second_derivative_of_the_fused_logarithm() -> None:
    x = with_values([0.01, 0.3, 0.31, 2.0]).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda s: log_eigenvalues(0.5 * (s + s.mT), threshold=0.1), x, atol=1e-4)


def test_the_fused_function_is_continuous_at_its_threshold() -> None:
    f, floor = ClampedLog(0.5), torch.zeros(1, dtype=torch.float64)
    a, b = torch.tensor([2.0]).double(), torch.tensor([0.5]).double()
    above, below = f.first(a, b + 1e-9, floor), f.first(a, b - 1e-9, floor)
    torch.testing.assert_close(above, below, rtol=1e-7, atol=0)
    assert f.first(b / 2, b / 3, floor) == 0


def test_layouts_keep_norms_and_agree_with_one_another() -> None:
    x = random_spd(5, 4)
    half, full, matrix = (LogEig(vectorize=v)(x) for v in ("half", "full", "none"))
    assert half.shape == (4, LogEig().out_features(5)) == (4, 15)
    assert full.shape == (4, LogEig(vectorize="full").out_features(5)) == (4, 25)
    torch.testing.assert_close(half.norm(dim=-1), full.norm(dim=-1))
    torch.testing.assert_close(matrix.flatten(-2), full)
    torch.testing.assert_close(vec(matrix), half)


def test_bad_arguments_and_singular_inputs_are_errors() -> None:
    with pytest.raises(ValueError, match="half, full, none"):
        LogEig(vectorize="upper")
    with pytest.raises(ValueError, match="`threshold` must be positive"):
        LogEig(threshold=0.0)
    with pytest.raises(ValueError, match="`threshold` must be positive"):
        ReEig(-1.0)
    singular = torch.diag(torch.tensor([1.0, 0.0]))
    with pytest.raises(ValueError, match="positive definite"):
        LogEig()(singular)
    assert LogEig(threshold=1e-3)(singular).isfinite().all()
    assert "0.001" in repr(ReEig(1e-3))
    assert "half" in repr(LogEig())
