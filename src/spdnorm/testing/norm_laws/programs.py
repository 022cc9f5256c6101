"""Transformations of the program, and constraints that survive training."""

from __future__ import annotations

import copy
import pickle

import torch
from torch import Tensor

from spdnorm.testing.norm_laws.suite import N, NormSuite, randomize


class ProgramLaws(NormSuite):
    """Compilation, export, vmap, manifold parameters, long steps."""

    def test_compile(self) -> None:
        torch._dynamo.reset()
        eager, compiled = self.layer(), self.layer()
        # So far apart that under the Bures-Wasserstein metric some samples fold, where eager mode may branch.
        x, y = (self.data(condition=60.0).requires_grad_() for _ in range(2))
        program = torch.compile(compiled, fullgraph=True, backend="aot_eager")
        for training in (True, False):
            eager.train(training)
            compiled.train(training)
            expected, out = eager(x), program(y)
            torch.testing.assert_close(out, expected, rtol=1e-8, atol=1e-8)
            (a,) = torch.autograd.grad(expected.square().sum(), x)
            (b,) = torch.autograd.grad(out.square().sum(), y)
            torch.testing.assert_close(a, b, rtol=1e-7, atol=1e-7)
        for name, buffer in eager.named_buffers():
            torch.testing.assert_close(dict(compiled.named_buffers())[name], buffer, rtol=1e-8, atol=1e-8)

    def test_export_of_evaluation(self) -> None:
        layer = self.layer()
        layer(self.data())
        x = self.data(seed=5)
        batch = torch.export.Dim("batch", min=2)
        program = torch.export.export(layer.eval(), (x,), dynamic_shapes=({0: batch},))
        y = self.data(7, seed=6)
        torch.testing.assert_close(program.module()(y), layer(y), rtol=1e-9, atol=1e-9)

    def test_vmap_over_models(self) -> None:
        # Copies, because torch gives each parametrized module a class of its own and stacks only equal classes.
        first = self.make(N, dtype=torch.float64)
        layers = [randomize(copy.deepcopy(first), seed=s).eval() for s in (1, 2, 3)]
        parameters, buffers = torch.func.stack_module_state(layers)
        x = self.data()

        def call(p: dict[str, Tensor], b: dict[str, Tensor]) -> Tensor:
            return torch.func.functional_call(layers[0], (p, b), (x,))

        out = torch.vmap(call)(parameters, buffers)
        for layer, each in zip(layers, out, strict=True):
            torch.testing.assert_close(each, layer(x), rtol=1e-9, atol=1e-9)

    def test_manifold_parameters(self) -> None:
        import geoopt

        layer = self.make(N, parametrized=False, dtype=torch.float64)
        expected = self.make(N, dtype=torch.float64)
        assert all(isinstance(getattr(layer, name), geoopt.ManifoldParameter) for name in layer._spd_parameters())
        x = self.data()
        torch.testing.assert_close(layer(x), expected(x), rtol=1e-10, atol=1e-10)
        layer(x).square().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
        again = pickle.loads(pickle.dumps(layer))
        assert torch.equal(again.eval()(x), layer.eval()(x))
        assert list(again.state_dict()) == list(layer.state_dict())

    def test_long_steps_keep_parameters_positive_definite(self) -> None:
        layer = self.make(N, dtype=torch.float64)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.3)
        target = self.data(12, seed=11)
        for _ in range(30):
            optimizer.zero_grad()
            (layer(self.data()) - target).square().sum().backward()
            optimizer.step()
        for name in layer._spd_parameters():
            value = getattr(layer, name).detach()
            assert torch.linalg.eigvalsh(value).min() > 0
            assert torch.allclose(value, value.mT, atol=1e-12)
