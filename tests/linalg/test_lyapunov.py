"""The Lyapunov operators: solutions, the paper's gradients, singular X."""

from __future__ import annotations

import pytest
import scipy.linalg
import torch
from torch import Tensor

from oracles import multiprecision as exact
from spdnorm.linalg import Power, congruence, generalized_lyapunov, lyapunov, spectrum, sum_operator, unvec, vec
from spdnorm.testing import Kind, count_decompositions, spd_matrices, tangents


def residual(x: Tensor, m: Tensor, s: Tensor, p: Tensor) -> float:
    gap = x @ p @ m + m @ p @ x - s
    return float((torch.linalg.matrix_norm(gap) / torch.linalg.matrix_norm(s)).max())


@pytest.mark.parametrize("kind", ["generic", "ties", "near_ties", "identity"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-4)])
def test_solves(kind: Kind, dtype: torch.dtype, tolerance: float) -> None:
    x, s = spd_matrices(5, 3, kind=kind, condition=50.0, dtype=dtype), tangents(5, 3, dtype=dtype)
    m = spd_matrices(5, 3, seed=8, condition=20.0, dtype=dtype)
    eye = torch.eye(5, dtype=dtype)
    p, q = lyapunov(x, s), generalized_lyapunov(x, m, s)
    assert p.dtype == q.dtype == dtype
    assert residual(x, eye, s, p) < tolerance
    assert residual(x, m, s, q) < 10 * tolerance
    torch.testing.assert_close(p, p.mT, rtol=1e-5, atol=10 * tolerance)
    for i in range(3):
        truth = scipy.linalg.solve_continuous_lyapunov(x[i].double().numpy(), s[i].double().numpy())
        torch.testing.assert_close(p[i].double(), torch.from_numpy(truth), rtol=100 * tolerance, atol=100 * tolerance)


def test_against_kronecker_products_in_50_digits() -> None:
    x, m, s = spd_matrices(3, condition=1e6), spd_matrices(3, seed=1, condition=10.0), tangents(3)
    oracle = exact.GeneralizedBuresWasserstein(exact.to_mp(m))
    truth = exact.to_torch(oracle.lyapunov(exact.to_mp(x), exact.to_mp(s)))
    error = torch.linalg.matrix_norm(generalized_lyapunov(x, m, s) - truth) / torch.linalg.matrix_norm(truth)
    assert float(error) < 1e-9


def test_generalised_becomes_ordinary() -> None:
    x, s = spd_matrices(4), tangents(4)
    torch.testing.assert_close(generalized_lyapunov(x, torch.eye(4, dtype=x.dtype), s), lyapunov(x, s))
    # At M = X it is half the congruence by X^-1: the affine-invariant metric's.
    inverse = torch.linalg.inv(x)
    torch.testing.assert_close(generalized_lyapunov(x, x, s), 0.5 * congruence(inverse, s))


@pytest.mark.parametrize("kind", ["generic", "ties", "identity"])
def test_gradients(kind: Kind) -> None:
    x, m, s = (vec(a).requires_grad_() for a in (spd_matrices(3, kind=kind), spd_matrices(3, seed=5), tangents(3)))
    for function, inputs in (
        (lambda a, c: lyapunov(unvec(a), unvec(c)), (x, s)),
        (lambda a, b, c: generalized_lyapunov(unvec(a), unvec(b), unvec(c)), (x, m, s)),
    ):
        assert torch.autograd.gradcheck(function, inputs, atol=1e-7, rtol=1e-6)
        assert torch.autograd.gradgradcheck(function, inputs, atol=1e-6, rtol=1e-5)


def test_gradients_of_the_paper() -> None:
    """Eq. (Lydif2): with Q = L_X(dL/dP), the gradient in S is Q and the one in X is -(P Q + Q P)."""
    x, s = spd_matrices(4).requires_grad_(), tangents(4).requires_grad_()
    p = lyapunov(x, s)
    upstream = tangents(4, seed=9)
    of_x, of_s = torch.autograd.grad((p * upstream).sum(), (x, s))
    q = lyapunov(x.detach(), upstream)
    p = p.detach()
    torch.testing.assert_close(of_s, q)
    torch.testing.assert_close(of_x, -(p @ q + q @ p))


def test_singular_where_a_solution_exists() -> None:
    x = spd_matrices(5, 2, kind="boundary", rank=3, condition=10.0)
    known = tangents(5, 2)
    s = x @ known + known @ x
    p = lyapunov(x, s)
    assert residual(x, torch.eye(5, dtype=x.dtype), s, p) < 1e-13
    # The solution of least norm: nothing on the null space.
    null = spectrum(x).vectors[..., :2]
    assert float((null.mT @ p @ null).abs().max()) < 1e-13
    m = spd_matrices(5, seed=2)
    s = x @ known @ m + m @ known @ x
    assert residual(x, m, s, generalized_lyapunov(x, m, s)) < 1e-12
    leaf = x.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(lyapunov(leaf, known).square().sum(), leaf)
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("generalised", [False, True])
def test_gradients_on_singular_matrices(generalised: bool) -> None:
    """First and second derivatives along the matrices of rank r, X = A A^T, and the tangent vectors there.

    There the equation has a solution, and what it is used for (inner products of such vectors) does not see the
    null space, on which the solution is free.
    """
    g = torch.Generator().manual_seed(4)
    a, b, c = (torch.randn(4, 2, generator=g, dtype=torch.float64).requires_grad_() for _ in range(3))
    m = spd_matrices(4, seed=5)

    def inner(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        x, u, v = a @ a.mT, a @ b.mT + b @ a.mT, a @ c.mT + c @ a.mT
        return ((generalized_lyapunov(x, m, u) if generalised else lyapunov(x, u)) * v).sum()

    assert torch.autograd.gradcheck(inner, (a, b, c), atol=1e-7, rtol=1e-6)
    assert torch.autograd.gradgradcheck(inner, (a, b, c), atol=1e-6, rtol=1e-5)


def test_refusals() -> None:
    x, s = spd_matrices(3), tangents(3)
    with pytest.raises(ValueError, match="`x` must have shape"):
        lyapunov(x[:2], s)
    with pytest.raises(ValueError, match="`x` must have shape"):
        generalized_lyapunov(x[:2], x, s)
    with pytest.raises(ValueError, match="`m` must be positive definite"):
        generalized_lyapunov(x, -x, s)


def test_decomposition_is_reused_and_shared() -> None:
    x, s = spd_matrices(4).requires_grad_(), tangents(4, 6)
    with count_decompositions() as count:
        d = spectrum(x)
        solution = lyapunov(x, s, decomposition=d)
        torch.autograd.grad(solution.sum(), x)
    assert count.eigh == 1
    assert solution.shape == (6, 4, 4)


def test_functions_of_the_kronecker_sum() -> None:
    """sum_operator with 1/s is the Lyapunov operator, with its first and second derivatives."""
    x, s = spd_matrices(3, kind="ties"), tangents(3)
    torch.testing.assert_close(sum_operator(spectrum(x), Power(-1.0), s), lyapunov(x, s))
    d = spectrum(x)
    dense = (d.values[:, None] + d.values[None, :]).sqrt() * (d.vectors.mT @ s @ d.vectors)
    torch.testing.assert_close(sum_operator(d, Power(0.5), s), d.vectors @ dense @ d.vectors.mT)
    inputs = (vec(x).requires_grad_(), vec(s).requires_grad_())
    for power in (-1.0, 0.5, -0.5):
        function = lambda a, b, power=power: sum_operator(spectrum(unvec(a)), Power(power), unvec(b))  # noqa: E731
        assert torch.autograd.gradcheck(function, inputs, atol=1e-7, rtol=1e-6)
        assert torch.autograd.gradgradcheck(function, inputs, atol=1e-6, rtol=1e-5)
