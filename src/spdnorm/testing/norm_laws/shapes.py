"""Shapes of the input, and input that is refused."""

from __future__ import annotations

from typing import Any

import torch

from spdnorm.nn.constraints import assign
from spdnorm.testing.needs_pytest import pytest
from spdnorm.testing.norm_laws.suite import N, NormSuite, randomize


class ShapeLaws(NormSuite):
    """Leading axes, channels, batches of one and none."""

    def test_leading_axes_are_pooled(self) -> None:
        x = self.data(3, 4)
        torch.testing.assert_close(self.layer()(x), self.layer()(x.reshape(12, N, N)).reshape(x.shape))

    def test_channels_are_separate_layers(self) -> None:
        x = self.data(8, 3)
        layer = self.layer(channels=3)
        singles = [randomize(self.make(N, dtype=torch.float64), seed=10 + c) for c in range(3)]
        scales = torch.tensor([0.2, 0.3, 0.4], dtype=torch.float64)
        with torch.no_grad():
            for c, single in enumerate(singles):
                if single.scale is not None:
                    single.scale.copy_(scales[c])
            for name in layer._spd_parameters():
                assign(layer, name, torch.stack([getattr(single, name) for single in singles]))
            if layer.scale is not None:
                layer.scale.copy_(scales)
        out = layer(x)
        for c, single in enumerate(singles):
            torch.testing.assert_close(out[:, c], single(x[:, c]), rtol=1e-9, atol=1e-9)
            assert layer.running_mean is not None
            torch.testing.assert_close(layer.running_mean[c], single.running_mean, rtol=1e-9, atol=1e-9)
        layer.eval()
        torch.testing.assert_close(layer(x)[:, 1], singles[1].eval()(x[:, 1]), rtol=1e-9, atol=1e-9)

    def test_one_sample_becomes_the_bias(self) -> None:
        layer = self.layer(**self.plain)
        out = layer(self.data(1))
        torch.testing.assert_close(out[0], self.bias(layer), rtol=1e-6, atol=1e-6)
        assert all(b.isfinite().all() for b in layer.buffers())

    def test_empty_batch_passes(self) -> None:
        layer = self.layer()
        before = {k: v.clone() for k, v in layer.named_buffers()}
        assert layer(self.data(0)).shape == (0, N, N)
        assert layer.eval()(self.data(0)).shape == (0, N, N)
        assert all(torch.equal(v, before[k]) for k, v in layer.named_buffers())

    def test_size_one(self) -> None:
        out = self.layer(n=1)(self.data(6, n=1) * torch.arange(1.0, 7.0, dtype=torch.float64)[:, None, None])
        assert out.isfinite().all()
        assert (out > 0).all()

    def test_strided_input(self) -> None:
        x = self.data(12)
        padded = torch.zeros(12, N + 3, N + 2, dtype=x.dtype)
        padded[:, 1 : N + 1, 2:] = x
        torch.testing.assert_close(self.layer()(padded[:, 1 : N + 1, 2:]), self.layer()(x))
        expanded = x[:1].expand(5, N, N)
        torch.testing.assert_close(self.layer()(expanded), self.layer()(expanded.contiguous()))

    @pytest.mark.parametrize(
        ("break_it", "message"),
        [
            (lambda x: x[..., :-1], "shape"),
            (lambda x: x[0], "shape"),
            (lambda x: x.float(), "float32"),
            (lambda x: x.bfloat16(), "float64"),
            (lambda x: x.long(), "floating"),
            (lambda x: x.to(torch.complex128), "floating"),
            (lambda x: torch.where(torch.arange(12)[:, None, None] == 3, torch.nan, x), "NaN"),
            (lambda x: torch.where(torch.arange(12)[:, None, None] == 3, torch.inf, x), "infinite"),
            (lambda x: x + torch.triu(torch.ones(N, N, dtype=x.dtype), 1), "symmetric"),
        ],
    )
    def test_bad_input_is_named(self, break_it: Any, message: str) -> None:
        layer = self.layer()
        before = {k: v.clone() for k, v in layer.named_buffers()}
        with pytest.raises((ValueError, TypeError), match=message):
            layer(break_it(self.data()))
        assert all(torch.equal(v, before[k]) for k, v in layer.named_buffers())
