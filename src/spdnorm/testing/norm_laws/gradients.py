"""Derivatives against finite differences."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from spdnorm.linalg import symmetrize
from spdnorm.nn import RiemannianBatchNorm
from spdnorm.testing.norm_laws.suite import NormSuite


class GradientLaws(NormSuite):
    """In the input and every parameter, statistics in the graph."""

    def _gradcheck(self, layer: RiemannianBatchNorm, x: Tensor, *, second: bool = False) -> None:
        parameters = [p.detach().clone().requires_grad_() for p in layer.parameters()]
        names = [name for name, _ in layer.named_parameters()]
        state = {k: v.clone() for k, v in layer.named_buffers()}

        def call(x: Tensor, *values: Tensor) -> Tensor:
            current = dict(zip(names, values, strict=True)) | {k: v.clone() for k, v in state.items()}
            return torch.func.functional_call(layer, current, (symmetrize(x),))

        inputs = (x.requires_grad_(), *parameters)
        if second:
            assert gradgradcheck(call, inputs, atol=1e-4, rtol=1e-3, fast_mode=True)
        else:
            assert gradcheck(call, inputs, atol=1e-5, rtol=1e-4)

    def test_gradients_in_training(self) -> None:
        self._gradcheck(self.layer(n=3), self.data(4, n=3))

    def test_gradients_in_evaluation(self) -> None:
        layer = self.layer(n=3)
        layer(self.data(5, n=3))
        self._gradcheck(layer.eval(), self.data(3, n=3))

    def test_gradients_at_ties_are_finite_and_right(self) -> None:
        self._gradcheck(self.make(3, dtype=torch.float64), self.data(4, n=3, kind="ties"))

    def test_second_derivatives(self) -> None:
        self._gradcheck(self.layer(n=2), self.data(2, n=2), second=True)

    def test_gradients_with_a_graph_are_those_without(self) -> None:
        """``create_graph=True`` takes another path through the code, and must end at the same numbers."""
        layer, x, weight = self.layer(), self.data().requires_grad_(), self.data()
        wanted = [x, *layer.parameters()]
        loss = (weight * layer(x)).sum()
        without = torch.autograd.grad(loss, wanted, retain_graph=True)
        for a, b in zip(without, torch.autograd.grad(loss, wanted, create_graph=True), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)

    def test_detached_statistics(self) -> None:
        x = self.data()
        full, detached = self.layer(stats_grad=True), self.layer(stats_grad=False)
        torch.testing.assert_close(full(x), detached(x), rtol=1e-12, atol=1e-12)
        gradients = []
        for layer in (full, detached):
            leaf = x.clone().requires_grad_()
            layer(leaf).square().sum().backward()
            assert leaf.grad is not None
            assert leaf.grad.isfinite().all()
            gradients.append(leaf.grad)
        assert not torch.allclose(gradients[0], gradients[1], rtol=1e-3)

    def test_detached_statistics_are_constants(self) -> None:
        """For every parameter, the metric's own included: the gradient is that of evaluation with these statistics."""
        layer = self.layer(stats_grad=False, momentum=1.0, **self.plain)
        x = self.data().requires_grad_()
        wanted = [x, *layer.parameters()]
        trained = torch.autograd.grad(layer(x).square().sum(), wanted)
        evaluated = torch.autograd.grad(layer.eval()(x).square().sum(), wanted)
        for a, b in zip(trained, evaluated, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-9)
