"""Networks by name, and the two written from their publications."""

from __future__ import annotations

import pytest
import torch
from problem import accuracy, fit
from torch import nn

from spdnorm import models
from spdnorm.datasets import make_ssvep
from spdnorm.models.euclidean.blocks import BoundedConv2d, BoundedLinear, CausalBlock, bounded
from spdnorm.models.euclidean.scaling import scaled

SIGNALS = [name for name in models.names() if name not in ("spdnet", "rresnet")]


def test_the_papers_table_is_there() -> None:
    table = {
        "eegnet",
        "shallowconvnet",
        "sccnet",
        "eeg-tcnet",
        "fbcnet",
        "tcnet-fusion",
        "mbeeg-se",
        "matt",
        "eegspdnet",
    }
    assert table == set(SIGNALS)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SIGNALS)
def test_every_network_runs_on_one_second_of_eight_channels(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = models.get(name, n_chans=8, n_outputs=5, n_times=125).to(dtype)
    y = model(torch.randn(6, 8, 125, dtype=dtype))
    assert y.shape == (6, 5)
    assert y.dtype == dtype
    y.logsumexp(1).sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "matt" else n for n in SIGNALS])
def test_every_network_reads_simulated_ssvep_of_a_later_session(name: str) -> None:
    data = make_ssvep(n_subjects=1, n_sessions=2, trials_per_class=20, snr_db=3.0, dtype="float32")
    x, y = torch.as_tensor(data.x), torch.as_tensor(data.y)
    later = torch.as_tensor(data.metadata["split"] == "test")
    torch.manual_seed(0)
    model = models.get(name, n_chans=8, n_outputs=5, n_times=125)
    fit(model, torch.optim.Adam(model.parameters(), lr=5e-3), x[~later], y[~later], steps=60, batch=50)
    assert accuracy(model, x[later], y[later]) > 0.4  # chance 0.2


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def trainable(name: str, **sizes: float) -> int:
    return count(models.get(name, **{"n_chans": 22, "n_outputs": 4, "n_times": 1125, "sfreq": 250.0, **sizes}))


def test_parameters_are_as_many_as_published() -> None:
    # Table of the repository of Altaheri et al. (2022), co-authors of both networks: BCI Competition IV-2a, 22
    # channels, 4.5 s at 250 Hz, 4 classes.
    assert trainable("tcnet-fusion") == 17_248
    assert trainable("mbeeg-se") == 10_170
    assert trainable("shallowconvnet") == 47_364
    # braindecode leaves out the 4 x 12 biases of convolutions before a batch normalisation, which cancels them.
    assert trainable("eeg-tcnet") == 4_096 - 48
    # EEGNet-8,2 in the table of Lawhern et al. (2018): P300 (64 channels, 1 s at 128 Hz, 2 classes) and SMR (22
    # channels, 2 s, 4 classes, a kernel of 32).
    assert trainable("eegnet", n_chans=64, n_outputs=2, n_times=128, sfreq=128.0) == 2_258
    assert trainable("eegnet", n_times=256, sfreq=128.0, kernel_length=32) == 1_716
    # Mane et al. (2021), 4 s at 250 Hz: 9 bands of 32 spatial filters with batch normalisation, 4 windows.
    filters = 9 * 32
    assert trainable("fbcnet", n_times=1000) == filters * (22 + 1) + 2 * filters + 4 * (4 * filters + 1)


def test_sccnet_has_the_published_kernels() -> None:
    # Wei et al. (2019), 22 channels at 125 Hz: 22 spatial filters, 20 of 0.1 s over them, squares averaged over 0.5 s
    # in steps of 0.1 s.
    model = models.get("sccnet", n_chans=22, n_outputs=4, n_times=562)
    assert model.spatial_conv.weight.shape == (22, 1, 22, 1)
    assert model.spatial_filt_conv.weight.shape == (20, 1, 22, 12)
    assert (model.temporal_smoothing.kernel_size, model.temporal_smoothing.stride) == ((1, 62), (1, 12))


def test_matt_has_the_published_sizes_for_mamem() -> None:
    model = models.get("matt", n_chans=8, n_outputs=5)
    assert model.spatial_filter.weight.shape == (125, 1, 8, 1)
    assert model.temporal_feature_extractor.weight.shape == (15, 125, 1, 36)
    assert model.linear.in_features == 7 * 78
    convolutions = 125 * (8 + 1) + 2 * 125 + 15 * (125 * 36 + 1) + 2 * 15
    assert count(model) == convolutions + 3 * 15 * 12 + 5 * (7 * 78 + 1)


def test_lengths_scale_with_the_sampling_rate() -> None:
    assert (scaled(32, 125, 250), scaled(32, 500, 250), scaled(1, 10, 250)) == (16, 64, 1)
    fast = models.TCNetFusion(22, 4, 1125, sfreq=250)
    assert fast.features[1].kernel_size == (1, 32)
    assert fast.features(torch.randn(2, 22, 1125)).shape == (2, 48, 17)  # the published 1125 // 8 // 8
    assert fast.head.in_features == 17 * (48 + 12) + 17 * 48
    published = models.MBEEGSE(22, 4, 1125, sfreq=250)
    assert [branch[0][1].kernel_size[1] for branch in published.branches] == [16, 32, 64]
    assert published.head.in_features == 17 * (8 + 16 + 32)
    with pytest.raises(ValueError, match="at least 64"):
        models.MBEEGSE(8, 2, 60, sfreq=250)


def test_bounded_weights() -> None:
    w = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    torch.testing.assert_close(bounded(w, 1.0), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))
    layer = BoundedLinear(3, 2, limit=0.25)
    nn.init.constant_(layer.weight, 10.0)
    nn.init.zeros_(layer.bias)
    torch.testing.assert_close(layer(torch.ones(1, 3)), torch.full((1, 2), 0.25 * 3**0.5))
    convolution = BoundedConv2d(1, 2, (4, 1), groups=1)
    nn.init.constant_(convolution.weight, -5.0)
    torch.testing.assert_close(convolution(torch.ones(1, 1, 4, 1)).flatten(), torch.full((2,), -2.0))


def test_temporal_convolutions_do_not_look_ahead() -> None:
    torch.manual_seed(0)
    block = CausalBlock(3, 4, kernel_size=4, dilation=2, dropout=0.0).eval()
    x = torch.randn(1, 3, 20)
    y = x.clone()
    y[..., 12:] += 1.0
    same = (block(x) - block(y)).abs().amax((0, 1)) < 1e-6
    assert same[:12].all()
    assert not same[12:].any()


def test_unknown_names_and_options() -> None:
    with pytest.raises(ValueError, match="choose one of eeg-tcnet, eegnet, eegspdnet"):
        models.get("resnet")
    with pytest.raises(TypeError, match="model 'spdnet' cannot take"):
        models.get("spdnet", dims=(5, 3), n_outputs=2, colour="red")
    with pytest.raises(ValueError, match="registered already"):
        models.register("spdnet", models.SPDNet)
