"""SPDNet, RResNet and EEGSPDNet: architectures, normalisations, precisions, errors."""

from __future__ import annotations

import copy

import pytest
import torch
from problem import accuracy, fit, two_classes
from torch import nn

from spdnorm.geometry import random_spd
from spdnorm.models import EEGFrontEnd, EEGSPDNet, RResNet, SPDNet, get
from spdnorm.nn import (
    DomainBatchNorm,
    GBWBatchNorm,
    LieBatchNorm,
    LogEig,
    ReEig,
    RiemannianBatchNorm,
    SPDBatchNorm,
    norm_names,
)
from spdnorm.testing import count_decompositions


def norms(model: SPDNet) -> list[str]:
    # torch names a class with parametrised tensors after the one that it was.
    return [type(block.norm).__name__.removeprefix("Parametrized") for block in model.blocks]


def test_norms_go_where_they_are_asked_for() -> None:
    assert norms(SPDNet((9, 7, 5), 3)) == ["Identity", "Identity"]
    assert norms(SPDNet((9, 7, 5), 3, norm="gbw", norm_options={"theta": 0.5})) == ["GBWBatchNorm"] * 2
    mixed = SPDNet((9, 7, 5), 3, norm=["spd", None], norm_options=[{"momentum": 0.2}, None])
    assert norms(mixed) == ["SPDBatchNorm", "Identity"]
    assert mixed.blocks[0].norm.momentum == 0.2
    made = SPDNet((9, 7), 3, norm=LieBatchNorm, norm_options={"metric": "lem"}, dtype=torch.float64)
    assert norms(made) == ["LieBatchNorm"]
    assert made.blocks[0].norm.bias.dtype == torch.float64


def test_forward_is_the_layers_one_after_the_other() -> None:
    model = SPDNet((8, 6, 4), 3, norm="spd", dtype=torch.float64).eval()
    x = random_spd(8, 5)
    first, second = model.blocks
    h = ReEig(1e-4)(first.norm(first.bimap(x)))
    h = LogEig()(ReEig(1e-4)(second.norm(second.bimap(h))))
    torch.testing.assert_close(model(x), model.head(h))


def test_the_last_rectification_costs_no_decomposition() -> None:
    model, x = SPDNet((8, 6, 4), 3, dtype=torch.float64), random_spd(8, 5)
    with count_decompositions() as counter:
        model(x)
    assert counter.calls == 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("parametrized", [True, False])
def test_channels(dtype: torch.dtype, parametrized: bool) -> None:
    model = SPDNet((6, 4), 3, norm="gbw", channels=2, parametrized=parametrized, dtype=dtype)
    y = model(random_spd(6, 5, 2, dtype=dtype))
    assert y.shape == (5, 3)
    assert y.dtype == dtype
    y.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_domain_specific_statistics_take_the_domains() -> None:
    torch.manual_seed(0)
    model = SPDNet((6, 4), 2, norm=lambda n: DomainBatchNorm(SPDBatchNorm(n), 2), dtype=torch.float64)
    x, domains = random_spd(6, 8), torch.arange(8) % 2
    x[domains == 1] *= 9.0
    assert model(x, domains).shape == (8, 2)
    seen = model.blocks[0].norm.running_mean
    assert not torch.allclose(seen[0], seen[1])
    with pytest.raises(ValueError, match="`domains` is missing"):
        model(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("dims", [(93, 30), (75, 30), (75,)])
@pytest.mark.parametrize("metric", ["aim", "lem"])
def test_rresnet_architectures(dims: tuple[int, ...], metric: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = RResNet(dims, 7, norm="gbw", norm_options={"theta": 0.5}, metric=metric, dtype=dtype)
    x = random_spd(dims[0], 6, condition=1e4, dtype=dtype)
    y = model(x)
    assert y.shape == (6, 7)
    y.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert isinstance(model.bimap, nn.Identity) == (len(dims) == 1)
    assert isinstance(model.norm, GBWBatchNorm)


def test_rresnet_learns() -> None:
    x, y = two_classes(dtype=torch.float64)
    torch.manual_seed(0)
    model = RResNet((12, 8), 2, norm="gbw", norm_options={"theta": 0.5}, dtype=torch.float64)
    fit(model, torch.optim.Adam(model.parameters(), lr=1e-2), x[:200], y[:200], steps=200)
    assert accuracy(model, x[200:], y[200:]) > 0.95


def test_rresnet_without_residuals_is_spdnet_of_one_block() -> None:
    torch.manual_seed(0)
    residual = RResNet((8, 4), 3, n_residuals=0, dtype=torch.float64)
    plain = SPDNet((8, 4), 3, threshold=1e-6, dtype=torch.float64)
    plain.blocks[0].bimap.weight = residual.bimap.weight
    plain.head.load_state_dict(residual.head.state_dict())
    x = random_spd(8, 3)
    torch.testing.assert_close(plain(x), residual(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", norm_names())
@pytest.mark.parametrize("network", ["spdnet", "rresnet", "eegspdnet"])
def test_any_network_takes_any_normalisation(network: str, norm: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    sizes = {"n_chans": 4, "spatial_filters": 5} if network == "eegspdnet" else {}
    dims = (8, 6) if network == "rresnet" else (8, 6, 5)
    model = get(network, dims=dims, n_outputs=3, norm=norm, dtype=dtype, **sizes)
    x = torch.randn(7, 4, 60, dtype=dtype) if sizes else random_spd(8, 7, dtype=dtype)
    y = model(x)
    assert y.shape == (7, 3)
    assert y.dtype == dtype
    y.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    layers = sum(isinstance(module, RiemannianBatchNorm) for module in model.modules())
    assert layers == (0 if norm == "none" else len(dims) - 1)
    assert model.eval()(x[:1]).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", ["none", "gbw", "spdm"])
def test_the_papers_eeg_network(norm: str, dtype: torch.dtype) -> None:
    model = EEGSPDNet(n_chans=8, n_outputs=5, n_times=125, norm=norm, dtype=dtype)
    x = torch.randn(4, 8, 125, dtype=dtype)
    assert model.front_end(x).shape == (4, 15, 126)
    assert model.matrices(x).shape == (4, 15, 15)
    assert model.features(x).shape == (4, 78)
    y = model(x)
    assert y.shape == (4, 5)
    assert y.dtype == dtype
    torch.testing.assert_close(model.eval()(x), model(x.unsqueeze(1)))
    weights = [tuple(p.shape) for p in model.front_end.parameters() if p.dim() == 4]
    assert weights == [(125, 1, 8, 1), (15, 125, 1, 36)]


def test_precision_can_rise_after_the_convolutions() -> None:
    model, x = EEGSPDNet(spd_dtype=torch.float64, norm="gbw"), torch.randn(3, 8, 125)
    assert model.front_end(x).dtype == torch.float32
    assert model(x).dtype == torch.float64
    assert model.double()(x.double()).dtype == torch.float64
    assert model.float()(x).dtype == torch.float32


def test_segments_become_channels() -> None:
    model = EEGSPDNet(segments=3, norm="spd", trace_normalize=True)
    assert model.matrices(torch.randn(4, 8, 125)).shape == (4, 3, 15, 15)
    assert model(torch.randn(4, 8, 125)).shape == (4, 5)


@pytest.mark.parametrize("training", [True, False])
def test_the_folded_front_end_is_the_layers_one_after_the_other(training: bool) -> None:
    torch.manual_seed(0)
    folded = EEGFrontEnd(8, dtype=torch.float64)
    plain = copy.deepcopy(folded)
    plain.fold = False
    x = 3 * torch.randn(6, 8, 50, dtype=torch.float64) + 1
    for _ in range(3):
        folded(x + 1), plain(x + 1)
    folded.train(training), plain.train(training)
    a = x.clone().requires_grad_()
    b = x.clone().requires_grad_()
    g = torch.randn(6, 15, 51, dtype=torch.float64)
    ya, yb = folded(a), plain(b)
    torch.testing.assert_close(ya, yb, rtol=1e-10, atol=1e-10)
    (ya * g).sum().backward(), (yb * g).sum().backward()
    torch.testing.assert_close(a.grad, b.grad, rtol=1e-8, atol=1e-9)
    for p, q in zip(folded.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-7, atol=1e-8)
    for p, q in zip(folded.buffers(), plain.buffers(), strict=True):
        torch.testing.assert_close(p, q)


def test_a_frozen_batch_norm_of_the_folded_front_end_stays_frozen() -> None:
    torch.manual_seed(0)
    folded = EEGFrontEnd(8, dtype=torch.float64)
    plain = copy.deepcopy(folded)
    plain.fold = False
    x = torch.randn(6, 8, 50, dtype=torch.float64)
    for front_end in (folded, plain):
        front_end.spatial_norm.eval()
    torch.testing.assert_close(folded(x), plain(x))
    assert folded.spatial_norm.num_batches_tracked == 0


def test_checkpoints_load() -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 8, 60)
    model = EEGSPDNet(norm="gbw", norm_options={"theta": 0.5})
    model(x)
    other = EEGSPDNet(norm="gbw", norm_options={"theta": 0.5})
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other.eval()(x), model.eval()(x))


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ValueError, match="two sizes or more"):
        SPDNet((15,), 2)
    with pytest.raises(ValueError, match="`norm` must have one entry for each of the 2 layers"):
        SPDNet((9, 7, 5), 2, norm=["gbw"])
    with pytest.raises(ValueError, match="choose one of none, "):
        SPDNet((9, 7), 2, norm="batch")
    with pytest.raises(TypeError, match="pass its class"):
        SPDNet((9, 7), 2, norm=GBWBatchNorm(7))
    with pytest.raises(TypeError, match="must be a name, a callable"):
        SPDNet((9, 7), 2, norm=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'half' or 'full'"):
        SPDNet((9, 7), 2, vectorize="none")
    with pytest.raises(ValueError, match="no BiMap"):
        RResNet((9, 7, 5), 2)
    with pytest.raises(ValueError, match="must have shape"):
        EEGSPDNet()(torch.randn(3, 9, 125))
    with pytest.raises(ValueError, match="too short"):
        EEGSPDNet(n_times=0)
