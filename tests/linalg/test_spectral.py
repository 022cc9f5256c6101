"""Functions of symmetric matrices: values, derivatives, transforms, precision, one decomposition for several."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import scipy.linalg
import torch
from torch import Tensor

from spdnorm import linalg
from spdnorm.functional import eigenvalues
from spdnorm.linalg import ABS, EXP, INV_SQRT, INVERSE, LOG, SQRT, Clamp, Power, SpectralFunction, spectrum, unvec, vec
from spdnorm.testing import KINDS, Kind, count_decompositions, spd_matrices, tangents

FUNCTIONS: dict[str, SpectralFunction] = {
    "log": LOG,
    "exp": EXP,
    "sqrt": SQRT,
    "inv_sqrt": INV_SQRT,
    "inverse": INVERSE,
    "power 1/4": Power(0.25),
    "power -1.5": Power(-1.5),
    "abs": ABS,
    "clamp": Clamp(0.9),
}
PUBLIC: dict[str, Callable[[Tensor], Tensor]] = {
    "logm": linalg.logm,
    "expm": linalg.expm,
    "sqrtm": linalg.sqrtm,
    "inv_sqrtm": linalg.inv_sqrtm,
    "invm": linalg.invm,
    "absm": linalg.absm,
    "powm": lambda x: linalg.powm(x, 0.3),
    "clampm": lambda x: linalg.clampm(x, 0.9),
}


def apply(function: SpectralFunction) -> Callable[[Tensor], Tensor]:
    return lambda x: linalg.matrix_function(x, function)


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "boundary"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_values(kind: Kind, dtype: torch.dtype) -> None:
    x = spd_matrices(4, 3, kind=kind, condition=100.0, dtype=dtype)
    references = {
        "logm": scipy.linalg.logm,
        "expm": scipy.linalg.expm,
        "sqrtm": scipy.linalg.sqrtm,
        "invm": scipy.linalg.inv,
        "absm": lambda m: m,
        "powm": lambda m: scipy.linalg.fractional_matrix_power(m, 0.3),
    }
    for name, reference in references.items():
        ours = PUBLIC[name](x)
        assert ours.dtype == dtype
        for one, result in zip(x, ours, strict=True):
            truth = torch.as_tensor(reference(one.double().numpy()).real)
            allowed = 1000 * torch.finfo(dtype).eps * float(truth.abs().max())
            torch.testing.assert_close(result.double(), truth, rtol=0, atol=allowed)


def test_relations() -> None:
    x = spd_matrices(5, 2, 3, condition=50.0)
    eye = torch.eye(5, dtype=x.dtype).expand_as(x)
    torch.testing.assert_close(linalg.expm(linalg.logm(x)), x)
    torch.testing.assert_close(linalg.sqrtm(x) @ linalg.inv_sqrtm(x), eye)
    root, inverse = linalg.sqrt_and_inverse(x)
    torch.testing.assert_close(root @ root, x)
    torch.testing.assert_close(root @ inverse, eye)
    values = torch.linalg.eigvalsh(linalg.clampm(x, 0.5))
    assert values.min() >= 0.5 - 1e-12
    u = tangents(5, 4)
    torch.testing.assert_close(linalg.absm(u) @ linalg.absm(u), u @ u)


@pytest.mark.parametrize("kind", ["generic", "ties", "near_ties", "identity"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_first_and_second_derivatives(name: str, kind: Kind) -> None:
    # The kinks of abs and clamp are away from these spectra, except that clamp at 0.9 splits them.
    x = vec(spd_matrices(4, kind=kind, condition=4.0)).requires_grad_()

    def function(v: Tensor) -> Tensor:
        return apply(FUNCTIONS[name])(unvec(v))

    assert torch.autograd.gradcheck(function, (x,), atol=1e-7, rtol=1e-6)
    assert torch.autograd.gradgradcheck(function, (x,), atol=1e-6, rtol=1e-5)


def test_third_derivative() -> None:
    x = vec(spd_matrices(2, kind="generic", condition=3.0)).requires_grad_()

    def slope(v: Tensor) -> Tensor:
        (gradient,) = torch.autograd.grad(linalg.logm(unvec(v)).pow(2).sum(), v, create_graph=True)
        return gradient

    assert torch.autograd.gradgradcheck(slope, (x,), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functional_transforms(name: str) -> None:
    function = apply(FUNCTIONS[name])
    x = spd_matrices(3, 4, condition=5.0)
    torch.testing.assert_close(torch.func.vmap(function)(x), function(x))
    jacobian = torch.func.jacrev(function)(x[0])
    h = tangents(3)
    derivative = linalg.derivative(x[0], FUNCTIONS[name], h)
    torch.testing.assert_close(torch.einsum("ijkl,kl->ij", jacobian, h), derivative)
    batched = torch.func.vmap(torch.func.jacrev(function))(x)
    torch.testing.assert_close(batched[0], jacobian)
    hessian = torch.func.jacrev(torch.func.jacrev(lambda m: function(m).sum()))(x[0])
    assert torch.isfinite(hessian).all()
    forward_over_batch = torch.func.vmap(lambda m: linalg.derivative(m, FUNCTIONS[name], h))(x)
    torch.testing.assert_close(forward_over_batch[0], derivative)


def _everything(x: Tensor, h: Tensor) -> Tensor:
    s = spectrum(x)
    parts = [s.apply(f) for f in FUNCTIONS.values()] + [s.derivative(LOG, h), linalg.polar(x @ h + x)]
    parts += [linalg.lyapunov(x, h), linalg.generalized_lyapunov(x, x + h @ h, h)]
    parts += [linalg.from_log_cholesky(linalg.to_log_cholesky(x))]
    return torch.stack(parts).square().sum((-2, -1))


def _little(x: Tensor, h: Tensor) -> Tensor:
    return (linalg.logm(x) * linalg.lyapunov(x, h)).sum((-2, -1))


@pytest.mark.parametrize(("backend", "plain"), [("aot_eager", _everything), ("inductor", _little)])
def test_compile(backend: str, plain: Callable[[Tensor, Tensor], Tensor]) -> None:
    """One graph without breaks, forward and backward; Inductor's is real generated code."""
    torch._dynamo.reset()
    x, h = spd_matrices(3, 2, condition=5.0), tangents(3, 2)
    compiled = torch.compile(plain, fullgraph=True, backend=backend)
    results = []
    for function in (plain, compiled):
        a, b = x.clone().requires_grad_(), h.clone().requires_grad_()
        value = function(a, b)
        results.append((value.detach(), *torch.autograd.grad(value.sum(), (a, b))))
    for eager, other in zip(*results, strict=True):
        torch.testing.assert_close(other, eager, rtol=1e-9, atol=1e-9)


def test_compile_without_gradient() -> None:
    torch._dynamo.reset()
    x, h = spd_matrices(3, 2, condition=5.0), tangents(3, 2)
    compiled = torch.compile(_everything, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, h), _everything(x, h))


@pytest.mark.parametrize(
    "function",
    [
        linalg.logm,
        linalg.polar,
        lambda x: linalg.lyapunov(x, x),
        lambda x: linalg.sum_operator(linalg.spectrum(x), linalg.SQRT, x),
        lambda x: eigenvalues(linalg.spectrum(x)),
    ],
)
def test_gradients_inside_autocast(function: Callable[[Tensor], Tensor]) -> None:
    """Where a user takes gradients inside the block, decompositions' derivatives keep their precision all the same."""
    x = spd_matrices(4, 3, dtype=torch.float32).requires_grad_()
    out = function(x)
    loss = (out * torch.arange(out.numel()).reshape(out.shape)).sum()
    (expected,) = torch.autograd.grad(loss, x, retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (inside,) = torch.autograd.grad(loss, x)
    assert torch.equal(inside, expected)


@pytest.mark.parametrize("name", PUBLIC)
def test_autocast(name: str) -> None:
    x = spd_matrices(6, 3, condition=50.0, dtype=torch.float32)
    plain = PUBLIC[name](x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16, "autocast is not on"
        cast, raised = PUBLIC[name](x), PUBLIC[name](x.bfloat16().float().bfloat16())
    torch.testing.assert_close(cast, plain, rtol=0, atol=0)
    assert raised.dtype == torch.float32


def test_one_decomposition_serves_several_functions() -> None:
    x = spd_matrices(4, 7).requires_grad_()
    with count_decompositions() as count:
        s = spectrum(x)
        results = [s.apply(f) for f in FUNCTIONS.values()]
        results += [s.derivative(LOG, tangents(4)), linalg.lyapunov(x, tangents(4), decomposition=s)]
        results.append(s.map(SQRT).apply(LOG))
        results.append(s.scaled(torch.tensor(2.0).double()).apply(SQRT))
        (gradient,) = torch.autograd.grad(sum(r.sum() for r in results), x, create_graph=True)
        torch.autograd.grad(gradient.square().sum(), x)
    assert (count.eigh, count.svd, count.calls) == (7, 0, 1)


def test_count_sees_every_kind_of_decomposition() -> None:
    x = spd_matrices(3, 5)
    with count_decompositions() as count:
        torch.linalg.eigvalsh(x)
        torch.linalg.svd(x[:2])
        torch.func.vmap(torch.linalg.eigh)(x)
        torch.linalg.cholesky(x)
    assert (count.eigh, count.svd, count.cholesky, count.calls) == (10, 2, 5, 3)


def test_map_and_scaled() -> None:
    x = spd_matrices(3, 4, condition=9.0)
    s = spectrum(x)
    torch.testing.assert_close(s.map(SQRT).apply(LOG), 0.5 * linalg.logm(x))
    factor = torch.rand(4, 1, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.5
    torch.testing.assert_close(s.scaled(factor).apply(LOG), linalg.logm(factor * x))
    negative = s.map(LOG).scaled(-factor).apply(EXP)
    torch.testing.assert_close(negative, linalg.expm(-factor * linalg.logm(x)))


def test_singular_square_root() -> None:
    """The square root of a singular matrix and its gradient are finite; so is the pseudo-inverse root."""
    x = spd_matrices(4, kind="boundary", rank=2, condition=3.0).requires_grad_()
    for function in (SQRT, linalg.PSEUDO_INV_SQRT, Power(0.25), ABS):
        result = linalg.matrix_function(x, function)
        (gradient,) = torch.autograd.grad(result.sum(), x)
        assert torch.isfinite(result).all()
        assert torch.isfinite(gradient).all()
    root, inverse = linalg.sqrtm(x).detach(), linalg.matrix_function(x, linalg.PSEUDO_INV_SQRT).detach()
    torch.testing.assert_close(inverse, torch.linalg.pinv(root, rtol=1e-6), atol=1e-7, rtol=1e-7)


def test_condition_numbers_to_1e14() -> None:
    x = spd_matrices(5, 3, condition=1e14).requires_grad_()
    for function in (SQRT, Power(0.25), EXP, ABS):
        result = linalg.matrix_function(x / x.detach().abs().max(), function)
        (gradient,) = torch.autograd.grad(result.sum(), x)
        assert torch.isfinite(result).all()
        assert torch.isfinite(gradient).all()
