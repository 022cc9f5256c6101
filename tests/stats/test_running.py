"""Running statistics: in place, in the buffer's precision, outside the graph, compiled or not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from spdnorm.stats import momentum_schedule, update_average, write


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 3)])
@pytest.mark.parametrize("compiled", [False, True])
def test_updated_in_place(shape: tuple[int, ...], compiled: bool) -> None:
    """A training step changes the buffer itself, also a zero-dimensional one in a compiled graph."""
    g = torch.Generator().manual_seed(0)
    first, value = (torch.randn(shape, generator=g, dtype=torch.float64) for _ in range(2))
    average, last = first.clone().float(), torch.zeros(shape)
    places = average.data_ptr(), last.data_ptr()

    def step(x: Tensor) -> Tensor:
        update_average(average, 2 * x, 0.1)
        write(last, x)
        return (2 * x).square().sum()

    if compiled:
        torch._dynamo.reset()
        step = torch.compile(step, backend="aot_eager", fullgraph=True)
    x = value.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(step(x), x)
    torch.testing.assert_close(gradient, 8 * value)
    assert (average.data_ptr(), last.data_ptr()) == places
    assert not average.requires_grad
    torch.testing.assert_close(average, (0.9 * first + 0.1 * 2 * value).float())
    torch.testing.assert_close(last, value.float())


def test_any_strides() -> None:
    """A buffer may be a part of something larger, and a batch of buffers may lie along any axis."""
    value = torch.arange(6.0).reshape(2, 3)
    for buffer in (torch.zeros(3, 2).mT, torch.zeros(2, 3, 4)[..., 1]):
        write(buffer, value)
        update_average(buffer, 3 * value, 0.5)
        torch.testing.assert_close(buffer, 2 * value)


def test_converges_to_the_value_and_takes_a_tensor_as_momentum() -> None:
    buffer, value = torch.zeros(2, dtype=torch.float64), torch.tensor([1.0, -2.0], dtype=torch.float64)
    for _ in range(100):
        update_average(buffer, value, torch.tensor(0.2))
    torch.testing.assert_close(buffer, value, rtol=1e-8, atol=1e-8)


def test_momentum_schedule() -> None:
    """Kobler et al. (2022): 1 at the first step, falling to ``minimum`` at the last, and staying."""
    values = [float(momentum_schedule(k, minimum=0.2, steps=10)) for k in range(1, 13)]
    assert values[0] == pytest.approx(1.0)
    assert values[9:] == pytest.approx([0.2, 0.2, 0.2])
    assert values[:10] == sorted(values[:10], reverse=True)
    assert values[4] == pytest.approx(1 - 0.2 ** (5 / 9) + 0.2)
    counter = torch.tensor(5)
    assert float(momentum_schedule(counter, minimum=0.2, steps=10)) == pytest.approx(values[4])
    assert float(momentum_schedule(1, minimum=1.0, steps=1)) == 1.0
    for options, name in (({"minimum": 0.0, "steps": 3}, "minimum"), ({"minimum": 0.5, "steps": 0}, "steps")):
        with pytest.raises(ValueError, match=f"`{name}` must"):
            momentum_schedule(1, **options)
