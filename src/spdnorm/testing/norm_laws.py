"""The laws that every normalisation layer keeps, to be inherited by a test class.

class TestMine(NormLaws):
    metric_class = staticmethod(lambda layer: MyMetric())

    def make(self, n, **options):
        return MyNorm(n, **options)
"""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck

from spdnorm.geometry import Metric
from spdnorm.linalg import symmetrize
from spdnorm.nn import DomainBatchNorm, RiemannianBatchNorm, refit
from spdnorm.nn.constraints import assign
from spdnorm.testing.counting import count_decompositions
from spdnorm.testing.matrices import spd_matrices
from spdnorm.testing.needs_pytest import pytest

N = 4


def randomize(layer: RiemannianBatchNorm, *, seed: int = 7, spread: float = 1.5) -> RiemannianBatchNorm:
    """Give a layer random parameters, in place."""
    for i, name in enumerate(layer._spd_parameters()):
        value = getattr(layer, name)
        drawn = spd_matrices(layer.num_features, *value.shape[:-2], condition=spread, seed=seed + i, dtype=value.dtype)
        assign(layer, name, drawn.to(value.device))
    if layer.scale is not None:
        with torch.no_grad():
            layer.scale.fill_(0.3)
    return layer


class NormLaws:
    """Inherit, supply :meth:`make`, and say what the method promises."""

    #: The output's barycentre is the bias.
    controls_mean = True
    #: The output's variance is scale^2.
    controls_variance = True
    #: Singular input gives finite output and gradients.
    allows_singular = False
    #: Decompositions a sample in training and in evaluation, where nothing folds.
    eigh_training: int = 2
    eigh_evaluation: int = 2
    #: Options that take away what makes training differ from evaluation at momentum 1.
    plain: dict[str, Any] = {}  # noqa: RUF012
    #: Relative agreement of float32 with float64.
    float32_tolerance = 2e-3

    def make(self, n: int, **options: Any) -> RiemannianBatchNorm:
        """A layer of matrix size ``n``; ``options`` are those of :class:`RiemannianBatchNorm`."""
        raise NotImplementedError

    def metric(self, layer: RiemannianBatchNorm) -> Metric:
        """The metric under which the layer's promises hold."""
        raise NotImplementedError

    # -- helpers -----------------------------------------------------------------------------------------------

    def layer(self, n: int = N, **options: Any) -> RiemannianBatchNorm:
        """A float64 layer with random parameters."""
        options.setdefault("dtype", torch.float64)
        return randomize(self.make(n, **options))

    def data(self, *batch: int, n: int = N, condition: float = 3.0, seed: int = 0, **options: Any) -> Tensor:
        """A batch close enough together that nothing folds."""
        return spd_matrices(n, *(batch or (12,)), condition=condition, seed=seed, **options)

    def bias(self, layer: RiemannianBatchNorm) -> Tensor:
        """Where the layer promises its output's mean to be."""
        assert layer.bias is not None
        return layer.bias.detach()

    # -- what normalisation promises ---------------------------------------------------------------------------

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

    # -- BatchNorm semantics -----------------------------------------------------------------------------------

    def test_evaluation_with_the_batch_statistics_equals_training(self) -> None:
        layer = self.layer(momentum=1.0, **self.plain)
        x = self.data()
        trained = layer(x)
        torch.testing.assert_close(layer.eval()(x), trained, rtol=1e-9, atol=1e-9)

    def test_evaluation_changes_nothing(self) -> None:
        layer = self.layer()
        layer(self.data())
        before = {k: v.clone() for k, v in layer.state_dict().items()}
        layer.eval()(self.data(seed=1))
        assert all(torch.equal(v, before[k]) for k, v in layer.state_dict().items())

    def test_momentum_moves_running_statistics(self) -> None:
        still, moved = self.layer(momentum=0.0), self.layer(momentum=0.5)
        x = self.data()
        still(x)
        moved(x)
        assert still.running_mean is not None
        assert moved.running_mean is not None
        assert torch.allclose(still.running_mean, torch.eye(N, dtype=torch.float64), atol=1e-12)
        assert not torch.allclose(moved.running_mean, still.running_mean, atol=1e-3)

    def test_momentum_none_averages_all_batches(self) -> None:
        layer = self.layer(momentum=None, **self.plain)
        x = self.data()
        for _ in range(3):
            layer(x)
        reference = self.layer(momentum=1.0, **self.plain)
        reference(x)
        # The cumulative average of three equal batches is that batch.
        assert layer.running_mean is not None
        torch.testing.assert_close(layer.running_mean, reference.running_mean, rtol=1e-9, atol=1e-9)
        if layer.running_var is not None:
            torch.testing.assert_close(layer.running_var, reference.running_var, rtol=1e-9, atol=1e-9)
        assert int(layer.num_batches_tracked) == 3  # type: ignore[arg-type]

    def test_without_running_stats_evaluation_uses_the_batch(self) -> None:
        layer = self.layer(track_running_stats=False)
        x = self.data()
        assert layer.running_mean is None
        torch.testing.assert_close(layer(x), layer.eval()(x), rtol=1e-12, atol=1e-12)

    def test_not_affine(self) -> None:
        layer = self.make(N, affine=False, dtype=torch.float64, mean_iterations=None, eps=0.0)
        assert layer.bias is None
        assert layer.scale is None
        out = layer(self.data()).detach()
        if self.controls_mean:
            eye = torch.eye(N, dtype=torch.float64)
            torch.testing.assert_close(self.metric(layer).mean(out), eye, rtol=1e-6, atol=1e-6)

    def test_reset(self) -> None:
        layer = self.layer()
        layer(self.data())
        fresh = self.make(N, dtype=torch.float64)
        layer.reset_running_stats()
        for name, buffer in fresh.named_buffers():
            assert torch.equal(dict(layer.named_buffers())[name], buffer), name
        layer.reset_parameters()
        x = self.data(seed=3)
        torch.testing.assert_close(layer(x), fresh(x), rtol=1e-10, atol=1e-10)

    def test_buffers_keep_their_storage_and_shape(self) -> None:
        layer = self.layer()
        before = {k: (v.data_ptr(), v.shape) for k, v in layer.named_buffers()}
        for seed in range(3):
            layer(self.data(5 + seed, seed=seed))
        assert before == {k: (v.data_ptr(), v.shape) for k, v in layer.named_buffers()}

    def test_state_survives(self) -> None:
        layer = self.layer()
        for seed in range(4):
            layer(self.data(seed=seed))
        stored = io.BytesIO()
        torch.save(layer.state_dict(), stored)
        stored.seek(0)
        loaded = self.make(N, dtype=torch.float64)
        loaded.load_state_dict(torch.load(stored, weights_only=True))
        # torch itself refuses to pickle parametrized modules.
        copies = [loaded, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]
        x = self.data(seed=9)
        for other in copies:
            assert list(other.state_dict()) == list(layer.state_dict())
            assert torch.equal(other.eval()(x), copy.deepcopy(layer).eval()(x))
            torch.testing.assert_close(other.train()(x), copy.deepcopy(layer).train()(x), rtol=1e-12, atol=1e-12)

    def test_float_and_double_convert(self) -> None:
        layer = self.layer()
        layer(self.data())
        x = self.data(seed=2)
        expected = copy.deepcopy(layer).eval()(x)
        narrow = layer.float().eval()(x.float())
        assert narrow.dtype is torch.float32
        torch.testing.assert_close(narrow.double(), expected, rtol=self.float32_tolerance, atol=self.float32_tolerance)
        assert layer.double().eval()(x).dtype is torch.float64

    # -- shapes --------------------------------------------------------------------------------------------------

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

    # -- gradients -----------------------------------------------------------------------------------------------

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

    # -- numerics ------------------------------------------------------------------------------------------------

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
        assert out.dtype is torch.float32
        torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-6)

    def test_identical_samples(self) -> None:
        layer = self.layer(**self.plain)
        x = torch.eye(N, dtype=torch.float64).repeat(6, 1, 1).requires_grad_()
        out = layer(x)
        out.sum().backward()
        torch.testing.assert_close(out[0], self.bias(layer), rtol=1e-6, atol=1e-6)
        assert x.grad is not None
        assert x.grad.isfinite().all()

    def test_singular_input(self) -> None:
        layer = self.layer()
        x = self.data(kind="boundary", rank=2, condition=5.0).requires_grad_()
        if not self.allows_singular:
            with pytest.raises(ValueError, match="positive definite"):
                layer(x)
            floored = self.layer(floor=1e-3)(x)
            floored.sum().backward()
            assert floored.isfinite().all()
            assert x.grad is not None
            assert x.grad.isfinite().all()
            return
        turn = torch.linalg.qr(torch.randn(N, N, generator=torch.Generator().manual_seed(1), dtype=torch.float64)).Q
        flat = torch.zeros_like(x)
        flat[:, 1:, 1:] = self.data(n=N - 1)
        # Null spaces that differ; one that all samples, and so their barycentre, share; nothing but zeros.
        for batch in (x, symmetrize(turn @ flat @ turn.mT), torch.zeros_like(x)):
            layer = self.layer(eps=1e-5)
            leaf = batch.detach().requires_grad_()
            out = layer(leaf)
            out.square().sum().backward()
            assert out.isfinite().all()
            assert leaf.grad is not None
            assert leaf.grad.isfinite().all()
            assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
            assert layer.eval()(leaf).isfinite().all()

    def test_ill_conditioned_input(self) -> None:
        layer = self.layer()
        x = self.data(condition=1e12).requires_grad_()
        out = layer(x)
        out.square().sum().backward()
        assert out.isfinite().all()
        assert x.grad is not None
        assert x.grad.isfinite().all()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())

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

    # -- transformations of the program --------------------------------------------------------------------------

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

    # -- constraints ---------------------------------------------------------------------------------------------

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

    # -- around the layer ----------------------------------------------------------------------------------------

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

    def test_repr_names_the_size(self) -> None:
        assert f"({N}, " in repr(self.make(N)).replace("\n", "").replace("  (", "(") or str(N) in repr(self.make(N))

    @pytest.mark.parametrize(
        ("break_it", "message"),
        [
            (lambda x: x[..., :-1], "shape"),
            (lambda x: x[0], "shape"),
            (lambda x: x.float(), "float32"),
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
