"""The Riemannian residual layer and differentiable eigenvalues."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from spdnorm.functional.eigenvalues import eigenvalues, with_eigenvalues
from spdnorm.functional.residual import residual_step
from spdnorm.geometry import get, random_spd, random_symmetric
from spdnorm.linalg import LOG, derivative, spectrum
from spdnorm.nn import RiemannianResidual


def gen(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def sym(s: torch.Tensor) -> torch.Tensor:
    return 0.5 * (s + s.mT)


def test_the_step_is_the_exponential_of_the_geometry() -> None:
    x, v = random_spd(4, 3, generator=gen()), random_symmetric((3, 4, 4), generator=gen(1))
    aim, lem = get("aim"), get("lem")
    torch.testing.assert_close(residual_step(spectrum(x), v, normalize=False), aim.exp(x, v))
    torch.testing.assert_close(residual_step(spectrum(x), v), aim.exp(x, v / aim.norm(x, v)[:, None, None]))
    coordinates = derivative(x, LOG, v)
    torch.testing.assert_close(
        residual_step(spectrum(x), coordinates, metric="lem", normalize=False), lem.exp(x, v), rtol=1e-6, atol=1e-8
    )
    torch.testing.assert_close(
        lem.distance(x, residual_step(spectrum(x), v, metric="lem")), torch.ones(3, dtype=torch.float64)
    )


def test_a_field_of_zeros_leaves_everything_in_place() -> None:
    class Zero(nn.Module):
        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return 0 * values

    x = random_spd(5, 3, generator=gen()).requires_grad_()
    for metric in ("aim", "lem"):
        y = RiemannianResidual(5, metric=metric, spectrum_map=Zero(), dtype=torch.float64)(x)
        torch.testing.assert_close(y, x)
        y.sum().backward()
        assert x.grad is not None
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("metric", ["aim", "lem"])
@pytest.mark.parametrize("frame", ["learned", "eigenvectors"])
@pytest.mark.parametrize("normalize", [True, False])
def test_gradients_of_the_layer(metric: str, frame: str, normalize: bool) -> None:
    torch.manual_seed(0)
    layer = RiemannianResidual(4, metric=metric, frame=frame, normalize=normalize, dtype=torch.float64).eval()
    x = random_spd(4, 2, condition=8.0, generator=gen(2)).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: layer(sym(s)), x, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("parametrized", [True, False])
def test_output_is_positive_definite_and_every_parameter_learns(dtype: torch.dtype, parametrized: bool) -> None:
    torch.manual_seed(0)
    layer = RiemannianResidual(6, parametrized=parametrized, dtype=dtype)
    x = random_spd(6, 5, condition=1e4, generator=gen(), dtype=dtype)
    y = layer(x)
    assert y.dtype == dtype
    assert (torch.linalg.eigvalsh(y) > 0).all()
    (y * torch.randn(y.shape, dtype=dtype, generator=gen(1))).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
    assert layer(x.reshape(5, 1, 6, 6)).shape == (5, 1, 6, 6)


def test_singular_inputs_are_raised_to_the_threshold() -> None:
    layer = RiemannianResidual(3, threshold=1e-3, dtype=torch.float64)
    x = torch.diag(torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64)).expand(4, 3, 3).clone().requires_grad_()
    y = layer(x)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_eigenvalues_are_differentiable_twice_and_at_repetitions() -> None:
    x = random_spd(4, generator=gen(3)).requires_grad_()
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)

    def f(s: torch.Tensor) -> torch.Tensor:
        return (eigenvalues(spectrum(sym(s))) ** 2 * weights).sum()

    assert torch.autograd.gradcheck(f, x)
    assert torch.autograd.gradgradcheck(f, x)
    repeated = torch.eye(3, dtype=torch.float64, requires_grad=True)
    eigenvalues(spectrum(repeated)).sum().backward()
    torch.testing.assert_close(repeated.grad, torch.eye(3, dtype=torch.float64))


def test_a_matrix_rebuilt_from_its_own_eigenvalues_is_itself() -> None:
    x = random_spd(4, 2, generator=gen(4)).requires_grad_()
    s = spectrum(x)
    y = with_eigenvalues(s, eigenvalues(s))
    torch.testing.assert_close(y, x)
    g = random_symmetric((2, 4, 4), generator=gen(5))
    (gradient,) = torch.autograd.grad(y, x, g)
    torch.testing.assert_close(gradient, g)


def test_errors_name_the_choices() -> None:
    with pytest.raises(ValueError, match="aim, lem"):
        RiemannianResidual(3, metric="bwm")
    with pytest.raises(ValueError, match="learned, eigenvectors"):
        RiemannianResidual(3, frame="fixed")
    assert "aim" in repr(RiemannianResidual(3))
