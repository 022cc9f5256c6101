"""PyTorch's BatchNorm semantics."""

from __future__ import annotations

import copy
import io
import pickle

import torch

from spdnorm.testing.norm_laws.suite import N, NormSuite


class SemanticLaws(NormSuite):
    """Modes, momentum, buffers, state."""

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

    def test_training_leaves_the_graph_of_an_evaluation_alone(self) -> None:
        """As in torch, where a gradient may be taken after the running statistics have moved on."""
        layer, x = self.layer(), self.data().requires_grad_()
        layer(self.data(seed=1))
        out = layer.eval()(x).square().sum()
        (expected,) = torch.autograd.grad(out, x, retain_graph=True)
        layer.train()(self.data(seed=2))
        (after,) = torch.autograd.grad(out, x)
        assert torch.equal(after, expected)

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
        variances = []
        for seed, size in enumerate((12, 5, 9)):
            x = self.data(size, seed=seed)
            layer(x)
            single = self.layer(momentum=1.0, **self.plain)
            single(x)
            if seed == 0:
                # The first batch counts in full: nothing is left of where the buffers started.
                assert layer.running_mean is not None
                torch.testing.assert_close(layer.running_mean, single.running_mean, rtol=1e-9, atol=1e-9)
            variances.append(single.running_var)
        if layer.running_var is not None:
            torch.testing.assert_close(layer.running_var, torch.stack(variances).mean(0), rtol=1e-9, atol=1e-9)  # type: ignore[arg-type]
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

    def test_factory_arguments(self) -> None:
        layer = self.make(N, device="meta", dtype=torch.float32, channels=2)
        tensors = [*layer.parameters(), *layer.buffers()]
        assert all(t.device.type == "meta" for t in tensors)
        assert all(t.dtype is torch.float32 for t in tensors if t.dtype.is_floating_point)
        layer.to_empty(device="cpu")
        with torch.no_grad():
            for tensor in (*layer.parameters(), *layer.buffers()):
                # What uninitialised memory may hold.
                tensor.fill_(torch.nan if tensor.dtype.is_floating_point else -7)
        layer.reset_parameters()
        x = self.data(6, 2).float()
        torch.testing.assert_close(layer(x), self.make(N, channels=2, dtype=torch.float32)(x))

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

    def test_repr_names_the_size(self) -> None:
        assert f"({N}, " in repr(self.make(N)).replace("\n", "").replace("  (", "(") or str(N) in repr(self.make(N))
