"""Cholesky chart, symmetric vectorisation, polar factor, small products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor

from spdnorm import linalg
from spdnorm.linalg import cholesky, cholesky_derivative, from_log_cholesky, to_log_cholesky, unvec, vec
from spdnorm.testing import Kind, spd_matrices, tangents


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_log_cholesky_chart(dtype: torch.dtype) -> None:
    x = spd_matrices(4, 2, 3, condition=100.0, dtype=dtype)
    y = to_log_cholesky(x)
    assert y.dtype == dtype
    assert torch.equal(y, y.tril())
    factor = np.linalg.cholesky(x.double().numpy())
    logs = torch.from_numpy(factor).diagonal(dim1=-2, dim2=-1).log()
    torch.testing.assert_close(y.diagonal(dim1=-2, dim2=-1).double(), logs, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(from_log_cholesky(y), x)


def test_cholesky_differential() -> None:
    """Against a central difference and against autograd through torch's factorisation."""
    x, h = spd_matrices(4, condition=20.0), tangents(4)
    factor = cholesky(x)
    ours = cholesky_derivative(factor, h)
    _, theirs = torch.func.jvp(torch.linalg.cholesky, (x,), (h,))
    torch.testing.assert_close(ours, theirs)
    step = 1e-6
    central = (cholesky(x + step * h) - cholesky(x - step * h)) / (2 * step)
    torch.testing.assert_close(ours, central, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(linalg.square_derivative(factor, ours), h)


def test_cholesky_gradients() -> None:
    inputs = (vec(spd_matrices(3)).requires_grad_(), vec(tangents(3)).requires_grad_())

    def both(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return to_log_cholesky(unvec(a)), cholesky_derivative(cholesky(unvec(a)), unvec(b))

    assert torch.autograd.gradcheck(both, inputs)
    assert torch.autograd.gradgradcheck(both, inputs, atol=1e-5, rtol=1e-4)


def test_solve_congruence() -> None:
    x, y = spd_matrices(4, 3), tangents(4, 3)
    factor = cholesky(x)
    inverse = torch.linalg.inv(factor)
    torch.testing.assert_close(linalg.solve_congruence(factor, y), inverse @ y @ inverse.mT)


def test_vec_is_an_isometry() -> None:
    x, y = tangents(5, 2, 3), tangents(5, 2, 3, seed=1)
    assert vec(x).shape == (2, 3, 15)
    torch.testing.assert_close((vec(x) * vec(y)).sum(-1), linalg.frobenius(x, y))
    torch.testing.assert_close(unvec(vec(x)), x)
    v = torch.randn(4, 10, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(vec(unvec(v)), v)
    assert torch.autograd.gradcheck(vec, (x[0, :1].clone().requires_grad_(),))
    assert torch.autograd.gradgradcheck(unvec, (v[:1].clone().requires_grad_(),))
    torch.testing.assert_close(torch.func.vmap(vec)(x), vec(x))
    with pytest.raises(ValueError, match=r"n \(n \+ 1\) / 2"):
        unvec(torch.zeros(7))


def test_polar_factor() -> None:
    w = torch.randn(3, 4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for one, ours in zip(w, linalg.polar(w), strict=True):
        torch.testing.assert_close(ours, torch.from_numpy(scipy.linalg.polar(one.numpy())[0]))


@pytest.mark.parametrize("ties", [False, True])
def test_polar_gradients(ties: bool) -> None:
    g = torch.Generator().manual_seed(1)
    u, v = (torch.linalg.qr(torch.randn(3, 3, generator=g, dtype=torch.float64)).Q for _ in range(2))
    sigma = torch.tensor([2.0, 2.0, 2.0] if ties else [3.0, 2.0, 0.5], dtype=torch.float64)
    w = ((u * sigma) @ v.mT).requires_grad_()
    assert torch.autograd.gradcheck(linalg.polar, (w,), atol=1e-7, rtol=1e-6)
    assert torch.autograd.gradgradcheck(linalg.polar, (w,), atol=1e-6, rtol=1e-5)


def test_gram_spectrum_keeps_the_digits_of_small_eigenvalues() -> None:
    w = torch.diag(torch.tensor([1.0, 1e-6], dtype=torch.float64))
    g = torch.Generator().manual_seed(2)
    u, v = (torch.linalg.qr(torch.randn(2, 2, generator=g, dtype=torch.float64)).Q for _ in range(2))
    w = u @ w @ v.mT
    gram = linalg.gram_spectrum(w)
    assert float(gram.values.min()) == pytest.approx(1e-12, rel=1e-8, abs=0)
    # The matrix itself has no such digits to give.
    assert float(torch.linalg.eigvalsh(w @ w.mT).min()) != pytest.approx(1e-12, rel=1e-8, abs=0)
    leaf = w.clone().requires_grad_()

    def root(a: Tensor) -> Tensor:
        return linalg.gram_spectrum(a).apply(linalg.SQRT).sum()

    assert torch.autograd.gradcheck(root, (leaf,), eps=1e-9, atol=1e-3)


OPERATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "lyapunov": linalg.lyapunov,
    "generalized_lyapunov": lambda x, h: linalg.generalized_lyapunov(x, x + h @ h, h),
    "polar": lambda x, h: linalg.polar(x + x @ h),
    "gram_spectrum": lambda x, h: linalg.gram_spectrum(x + x @ h).apply(linalg.LOG),
    "log_cholesky": lambda x, h: from_log_cholesky(to_log_cholesky(x) + h.tril()),
    "cholesky_derivative": lambda x, h: cholesky_derivative(cholesky(x), h),
    "vec": lambda x, h: unvec(vec(x) + vec(h)),
}


@pytest.mark.parametrize("kind", ["generic", "ties"])
@pytest.mark.parametrize("name", OPERATORS)
def test_functional_transforms(name: str, kind: Kind) -> None:
    """vmap is the batch, jacrev is autograd, vmap of jacrev is both; in float32 too."""
    function = OPERATORS[name]
    x, h = spd_matrices(3, 4, kind=kind, condition=5.0), tangents(3, 4)
    torch.testing.assert_close(torch.func.vmap(function)(x, h), function(x, h))
    jacobians = torch.func.vmap(torch.func.jacrev(function, argnums=(0, 1)))(x, h)
    leaves = x.clone().requires_grad_(), h.clone().requires_grad_()
    upstream = torch.randn(4, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for jacobian, gradient in zip(
        jacobians, torch.autograd.grad((function(*leaves) * upstream).sum(), leaves), strict=True
    ):
        torch.testing.assert_close(torch.einsum("bij,bijkl->bkl", upstream, jacobian), gradient)
    single = function(x.float(), h.float())
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), function(x, h), rtol=1e-4, atol=1e-5)


def test_small_products() -> None:
    a = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = spd_matrices(4, 2)
    moved = linalg.congruence(a, x)
    assert torch.equal(moved, moved.mT)
    torch.testing.assert_close(moved, a @ x @ a.mT)
    torch.testing.assert_close(linalg.trace(x), torch.einsum("bii->b", x))
    assert torch.equal(linalg.eye_like(x.float()), torch.eye(4))


def test_safe_sqrt() -> None:
    x = torch.tensor([0.0, 4.0], dtype=torch.float64, requires_grad=True)
    y = linalg.safe_sqrt(x)
    assert y.tolist() == [0.0, 2.0]
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert gradient.tolist() == [0.0, 0.25]
    (second,) = torch.autograd.grad(gradient.sum(), x)
    assert torch.isfinite(second).all()


def test_safe_rsqrt() -> None:
    x = torch.tensor([0.0, 4.0, torch.nan], dtype=torch.float64, requires_grad=True)
    y = linalg.safe_rsqrt(x)
    assert y[:2].tolist() == [0.0, 0.5]
    assert y[2].isnan(), "what is not a number is no zero"
    assert torch.autograd.grad(y[:2].sum(), x)[0][:2].tolist() == [0.0, -0.0625]
