"""What normalisation promises: the output's mean and variance, exact statistics, domains."""

from __future__ import annotations

import torch
from torch import nn

from spdnorm.nn import DomainBatchNorm, refit
from spdnorm.testing.needs_pytest import pytest
from spdnorm.testing.norm_laws.suite import NormSuite


class PromiseLaws(NormSuite):
    """The output's statistics, by any way to the layer's."""

    def test_mean_is_the_bias(self) -> None:
        if not self.controls_mean:
            pytest.skip("this method does not control the mean")
        layer = self.layer(mean_iterations=None, eps=0.0)
        out = layer(self.data()).detach()
        torch.testing.assert_close(self.metric(layer).mean(out), self.bias(layer), rtol=1e-7, atol=1e-7)

    def test_variance_is_the_squared_scale(self) -> None:
        layer = self.layer(mean_iterations=None, eps=0.0)
        x = self.data()
        metric = self.metric(layer)
        out = layer(x).detach()
        after = metric.variance(out, self.bias(layer))
        if self.controls_variance:
            assert layer.scale is not None
            torch.testing.assert_close(after, layer.scale.detach() ** 2, rtol=1e-7, atol=1e-9)
        else:
            # Then it is the input's, times the squared scale where there is one.
            factor = 1.0 if layer.scale is None else layer.scale.detach() ** 2
            torch.testing.assert_close(after, factor * metric.variance(x), rtol=1e-7, atol=1e-9)

    def test_output_is_symmetric_positive_definite(self) -> None:
        for condition in (3.0, 1e4):
            out = self.layer()(self.data(condition=condition)).detach()
            assert torch.allclose(out, out.mT, rtol=0, atol=1e-10 * float(out.abs().max()))
            assert torch.linalg.eigvalsh(out).min() > -1e-10 * float(out.abs().max())

    def test_order_of_samples_does_not_matter(self) -> None:
        x = self.data()
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
        layer = self.layer()
        torch.testing.assert_close(layer(x)[order], self.layer()(x[order]), rtol=1e-10, atol=1e-10)

    def test_refit_gives_exact_statistics(self) -> None:
        x = self.data(24)
        layer = self.layer(eps=0.0)
        refit(nn.Sequential(layer), list(x.split(7)))
        assert layer.training
        out = layer.eval()(x).detach()
        if self.controls_mean:
            torch.testing.assert_close(self.metric(layer).mean(out), self.bias(layer), rtol=1e-7, atol=1e-7)
        if self.controls_variance:
            assert layer.scale is not None
            after = self.metric(layer).variance(out, self.bias(layer))
            torch.testing.assert_close(after, layer.scale.detach() ** 2, rtol=1e-7, atol=1e-9)

    def test_domains_are_separate_layers(self) -> None:
        x = self.data(12)
        domains = torch.tensor([0, 2] * 6)
        layer = DomainBatchNorm(self.layer(), 3)
        out = layer(x, domains)
        for d in (0, 2):
            single = self.layer()
            torch.testing.assert_close(out[domains == d], single(x[domains == d]), rtol=1e-9, atol=1e-9)
        assert layer.seen == [0, 2]
        layer.eval()
        with pytest.raises(ValueError, match="adapt"):
            layer(x, torch.ones(12, dtype=torch.long))
        layer.adapt(x, 1)
        exact = self.layer()
        exact.refit(x)
        adapted = layer(x, torch.ones(12, dtype=torch.long))
        torch.testing.assert_close(adapted, exact.eval()(x), rtol=1e-9, atol=1e-9)
