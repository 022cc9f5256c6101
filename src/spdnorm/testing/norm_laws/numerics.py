"""Precision, hard input, and the price."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from spdnorm.linalg import symmetrize
from spdnorm.nn import RiemannianBatchNorm
from spdnorm.testing.counting import count_decompositions
from spdnorm.testing.needs_pytest import pytest
from spdnorm.testing.norm_laws.suite import N, NormSuite


class NumericalLaws(NormSuite):
    """float32, autocast, singular and ill-conditioned input, eigendecompositions."""

    def test_float32(self) -> None:
        x = self.data(condition=10.0)
        expected = self.layer()(x)
        out = self.layer().float()(x.float())
        assert out.dtype is torch.float32
        error = float(((out.double() - expected).abs().max() / expected.abs().max()).detach())
        assert error < self.float32_tolerance

    def test_autocast_does_not_lower_the_precision(self) -> None:
        layer = self.layer().float()
        x = self.data().float()
        expected = copy.deepcopy(layer)(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = layer(x)
            # Torch's own products are lowered on the way back here; nothing may break on it.
            inside = torch.autograd.grad(out.square().sum(), list(layer.parameters()))
        assert out.dtype is torch.float32
        torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-6)
        assert all(g.dtype is torch.float32 and bool(g.isfinite().all()) for g in inside)
        refitted = copy.deepcopy(layer)
        layer.refit(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            refitted.refit(x)
        assert all(torch.equal(b, dict(refitted.named_buffers())[k]) for k, b in layer.named_buffers())

    def test_identical_samples(self) -> None:
        layer = self.layer(**self.plain)
        x = torch.eye(N, dtype=torch.float64).repeat(6, 1, 1).requires_grad_()
        out = layer(x)
        out.sum().backward()
        torch.testing.assert_close(out[0], self.bias(layer), rtol=1e-6, atol=1e-6)
        assert x.grad is not None
        assert x.grad.isfinite().all()

    def test_no_spread_and_no_eps(self) -> None:
        """Where the variance is 0 in all its digits there is nothing to divide, and nothing is."""
        layer = self.layer(eps=0.0, **self.plain)
        x = torch.eye(N, dtype=torch.float64).repeat(1, 1, 1).requires_grad_()
        gradients = torch.autograd.grad(layer(x).square().sum(), [x, *layer.parameters()])
        assert all(t.isfinite().all() for t in (layer(x), layer.eval()(x), *gradients))

    @staticmethod
    def _check_finite(layer: RiemannianBatchNorm, x: Tensor) -> None:
        """Outputs and all gradients in training, outputs in evaluation."""
        leaf = x.detach().requires_grad_()
        out = layer(leaf)
        gradients = torch.autograd.grad(out.square().sum(), [leaf, *layer.parameters()])
        assert all(t.isfinite().all() for t in (out, *gradients, layer.eval()(leaf)))

    def test_singular_input(self) -> None:
        x = self.data(kind="boundary", rank=2, condition=5.0)
        if not self.allows_singular:
            with pytest.raises(ValueError, match="positive definite"):
                self.layer()(x)
            self._check_finite(self.layer(floor=1e-3), x)
            return
        turn = torch.linalg.qr(torch.randn(N, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).Q
        flat = torch.zeros_like(x)
        flat[:, 1:, 1:] = self.data(n=N - 1)
        # Null spaces that differ; one that all samples, and so their barycentre, share; nothing but zeros.
        for batch in (x, symmetrize(turn @ flat @ turn.mT), torch.zeros_like(x)):
            self._check_finite(self.layer(), batch)

    def test_ill_conditioned_input(self) -> None:
        self._check_finite(self.layer(), self.data(condition=self.largest_condition))

    def test_decompositions(self) -> None:
        small, large = 8, 24
        layer = self.layer(**self.plain)
        for training, each in ((True, self.eigh_training), (False, self.eigh_evaluation)):
            layer.train(training)
            counts = []
            for size in (small, large):
                x = self.data(size, condition=1.3).requires_grad_()
                with count_decompositions() as count:
                    out = layer(x)
                    forward = count.eigh + count.svd
                    out.square().sum().backward()
                counts.append(forward)
                # Backward reuses what forward has decomposed.
                assert count.eigh + count.svd == forward
            # Whatever is spent on n x n quantities drops out of the difference.
            assert (counts[1] - counts[0]) / (large - small) == each
