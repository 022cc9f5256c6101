"""BiMap: the product, the constraint under both kinds of parameters, channels, errors."""

from __future__ import annotations

import copy

import geoopt
import pytest
import torch

from spdnorm import optim
from spdnorm.geometry import random_spd
from spdnorm.nn import BiMap
from spdnorm.nn.semi_orthogonal import orthonormal_rows


def orthonormality_error(w: torch.Tensor) -> float:
    return (w @ w.mT - torch.eye(w.shape[-2], dtype=w.dtype)).abs().max().item()


@pytest.mark.parametrize("parametrized", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_product_shapes_and_constraint(parametrized: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = BiMap(9, 4, parametrized=parametrized, dtype=dtype)
    x = random_spd(9, 5, 3, dtype=dtype)
    y, w = layer(x), layer.weight
    assert y.shape == (5, 3, 4, 4)
    assert y.dtype == dtype
    assert torch.equal(y, y.mT)
    torch.testing.assert_close(y, w @ x @ w.mT)
    assert orthonormality_error(w) < 10 * torch.finfo(dtype).eps
    # Interlacing: the spectrum stays within the input's bounds.
    low, high = torch.linalg.eigvalsh(x)[..., 0], torch.linalg.eigvalsh(x)[..., -1]
    values = torch.linalg.eigvalsh(y)
    slack = 1 + 100 * torch.finfo(dtype).eps
    assert (values[..., 0] * slack >= low).all()
    assert (values[..., -1] <= high * slack).all()


@pytest.mark.parametrize("parametrized", [True, False])
def test_channels_have_weights_of_their_own(parametrized: bool) -> None:
    layer = BiMap(6, 3, channels=2, parametrized=parametrized, dtype=torch.float64)
    x = random_spd(6, 4, 2)
    y, w = layer(x), layer.weight
    for c in range(2):
        torch.testing.assert_close(y[:, c], w[c] @ x[:, c] @ w[c].mT)
    assert not torch.allclose(w[0], w[1])
    assert orthonormality_error(w) < 1e-14


def test_square_map_keeps_the_spectrum() -> None:
    x = random_spd(5, 3)
    y = BiMap(5, 5, dtype=torch.float64)(x)
    torch.testing.assert_close(torch.linalg.eigvalsh(y), torch.linalg.eigvalsh(x))


def test_parametrisation_fixes_orthonormal_rows_and_is_differentiable() -> None:
    w = torch.linalg.qr(torch.randn(7, 3, dtype=torch.float64)).Q.mT.contiguous()
    torch.testing.assert_close(orthonormal_rows(w), w)
    a = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(orthonormal_rows, a)
    assert torch.autograd.gradgradcheck(orthonormal_rows, a)
    assert orthonormality_error(orthonormal_rows(torch.diag(torch.tensor([1.0, 1e-6, -1e6])).double())) < 1e-14


def test_both_kinds_carry_a_checkpoint_over() -> None:
    torch.manual_seed(0)
    for parametrized in (True, False):
        layer = BiMap(5, 2, parametrized=parametrized)
        other = BiMap(5, 2, parametrized=parametrized)
        other.load_state_dict(layer.state_dict())
        assert torch.equal(other.weight, layer.weight)
        assert torch.equal(copy.deepcopy(layer).weight, layer.weight)
    manifold_layer = BiMap(5, 2, parametrized=False)
    assert isinstance(manifold_layer.weight, geoopt.ManifoldParameter)
    layer = BiMap(5, 2)
    layer.weight = manifold_layer.weight.detach()
    torch.testing.assert_close(layer.weight.detach(), manifold_layer.weight.detach())


def test_moving_the_module_moves_the_constraint() -> None:
    for parametrized in (True, False):
        layer = BiMap(5, 2, parametrized=parametrized).double()
        assert layer(random_spd(5, 2)).dtype == torch.float64
    assert "5, 2" in repr(layer)


def test_autocast_does_not_lower_the_precision() -> None:
    layer, x = BiMap(6, 3), random_spd(6, 4, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = layer(x)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, layer(x))


@pytest.mark.parametrize("sizes", [(3, 4), (3, 0)])
def test_sizes_that_cannot_be_orthonormal_are_errors(sizes: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="`out_features` must lie in"):
        BiMap(*sizes)


def test_a_wrong_input_or_weight_says_what_fits() -> None:
    layer = BiMap(6, 3)
    with pytest.raises(ValueError, match="matrices of size 6"):
        layer(random_spd(5, 2, dtype=torch.float32))
    with pytest.raises(ValueError, match="`x` is not symmetric"):
        layer(torch.arange(36.0).reshape(1, 6, 6))
    with pytest.raises(ValueError, match="orthonormal rows"):
        layer.weight = torch.ones(3, 6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("parametrized", [True, False])
def test_no_step_however_long_leaves_the_constraint(parametrized: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = BiMap(12, 8, parametrized=parametrized, dtype=dtype)
    optimizer = optim.get("torch-adam" if parametrized else "adam", layer, lr=1.0)
    x, target = random_spd(12, 6, dtype=dtype), random_spd(8, 6, dtype=dtype)
    for _ in range(500):
        optimizer.zero_grad()
        (layer(x) - target).square().sum().backward()
        optimizer.step()
    assert orthonormality_error(layer.weight.detach()) < 100 * torch.finfo(dtype).eps
