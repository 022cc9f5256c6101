"""Domain-specific statistics, and exact ones over a data set."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from tests.helpers import spd_matrices
from torch import nn

from spdnorm.geometry import AffineInvariant, GeneralizedBuresWasserstein
from spdnorm.nn import DomainBatchNorm, GBWBatchNorm, LogEig, SPDMomentumBatchNorm, refit
from spdnorm.testing.norm_laws import randomize

DOMAINS = torch.tensor([0, 2, 2, 0, 2, 0, 0, 2])


def _layer(norm=None, num_domains=4):
    return DomainBatchNorm(norm or randomize(GBWBatchNorm(4, dtype=torch.float64)), num_domains)


def _data(count=8, seed=0):
    return spd_matrices(4, count, condition=6.0, seed=seed)


def test_state_survives():
    layer = _layer()
    for seed in range(3):
        layer(_data(seed=seed), DOMAINS)
    loaded = _layer(GBWBatchNorm(4, dtype=torch.float64))
    loaded.load_state_dict(layer.state_dict())
    x = _data(seed=9)
    expected = copy.deepcopy(layer).eval()(x, DOMAINS)
    for other in (loaded, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other.seen == [0, 2]
        assert torch.equal(other.eval()(x, DOMAINS), expected)
    narrow = layer.float().eval()(x.float(), DOMAINS)
    torch.testing.assert_close(narrow.double(), expected, rtol=1e-4, atol=1e-4)


def test_parameters_are_shared_and_learn_from_all_domains():
    layer = _layer()
    assert {n for n, _ in layer.named_parameters()} == {f"norm.{n}" for n, _ in layer.norm.named_parameters()}
    layer(_data(), DOMAINS).square().sum().backward()
    total = layer.norm.scale.grad.clone()
    parts = torch.zeros_like(total)
    for d in (0, 2):
        single = randomize(GBWBatchNorm(4, dtype=torch.float64))
        single(_data()[d == DOMAINS]).square().sum().backward()
        parts += single.scale.grad
    torch.testing.assert_close(total, parts, rtol=1e-10, atol=1e-12)


def test_cumulative_average_counts_each_domain():
    layer = _layer(GBWBatchNorm(4, momentum=None, dtype=torch.float64))
    x = _data()
    layer(x, torch.zeros(8, dtype=torch.long))
    layer(x, torch.ones(8, dtype=torch.long))
    # The first batch of each domain counts in full, whatever others have seen.
    torch.testing.assert_close(layer.running_mean[1], layer.running_mean[0], rtol=1e-12, atol=1e-12)
    assert layer.num_batches_tracked.tolist() == [1, 1, 0, 0]


def test_momentum_norm_by_domain():
    """SPDDSMBN: the schedule's step, the training and the evaluation statistics are those of the domain."""
    options = {"min_momentum": 0.3, "schedule_steps": 4, "dtype": torch.float64}
    layer = _layer(SPDMomentumBatchNorm(4, **options))
    singles = {d: SPDMomentumBatchNorm(4, **options) for d in (0, 2)}
    for seed in range(3):
        x = _data(seed=seed)
        out = layer(x, DOMAINS)
        for d, single in singles.items():
            torch.testing.assert_close(out[d == DOMAINS], single(x[d == DOMAINS]), rtol=1e-10, atol=1e-10)
    for d, single in singles.items():
        for name, buffer in single.named_buffers():
            torch.testing.assert_close(getattr(layer, name)[d], buffer, rtol=1e-10, atol=1e-10)


def test_adapted_domain_is_centred_and_scaled():
    layer = _layer()
    layer(_data(), DOMAINS)
    x = _data(30, seed=5)
    layer.eval().adapt(x, 3)
    norm = layer.norm
    metric = GeneralizedBuresWasserstein(norm.metric.detach())
    out = layer(x, torch.full((30,), 3)).detach()
    torch.testing.assert_close(metric.mean(out), norm.bias.detach(), rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(metric.variance(out, norm.bias.detach()), norm.scale.detach() ** 2, rtol=1e-4, atol=0)
    layer.reset_running_stats()
    assert layer.seen == []


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        (torch.zeros(7, dtype=torch.long), "one whole number for each of the 8 samples"),
        (torch.zeros(8), "whole number"),
        (torch.full((8,), 4), "raise num_domains"),
        (torch.full((8,), -1), "raise num_domains"),
    ],
)
def test_bad_domains_are_named(domains, message):
    layer = _layer()
    before = copy.deepcopy(layer.state_dict())
    with pytest.raises(ValueError, match=message):
        layer(_data(), domains)
    assert all(torch.equal(v, before[k]) for k, v in layer.state_dict().items())


def test_unseen_domain_in_evaluation_names_the_remedy():
    layer = _layer().eval()
    with pytest.raises(ValueError, match=r"no statistics for domain\(s\) 0, 2 \(seen: \[\]\): call adapt"):
        layer(_data(), DOMAINS)


class _Network(nn.Module):
    """Two normalisations, the second by domain and called with keywords; what follows needs positive definite input."""

    def __init__(self):
        super().__init__()
        self.first = randomize(GBWBatchNorm(4, dtype=torch.float64))
        self.second = DomainBatchNorm(randomize(SPDMomentumBatchNorm(4, dtype=torch.float64)), 4)
        self.log = LogEig()

    def forward(self, x, domains):
        return self.log(self.second(self.first(x), domains=domains))


def test_refit_of_a_network_in_order():
    network = _Network()
    x = _data(24)
    domains = torch.arange(24) % 3
    batches = [(x[i : i + 7], domains[i : i + 7]) for i in range(0, 24, 7)]
    network.first.eval()
    assert refit(network, batches, call=lambda model, batch: model(*batch)) is network
    assert network.second.training
    assert not network.first.training
    assert network.second.num_batches_tracked.tolist() == [1, 1, 1, 0]
    exact = copy.deepcopy(network.first)
    exact.reset_running_stats()
    exact.refit(x)
    torch.testing.assert_close(network.first.running_mean, exact.running_mean, rtol=1e-9, atol=1e-9)
    inner = exact.eval()(x).detach()
    for d in range(3):
        torch.testing.assert_close(
            network.second.running_mean[d], AffineInvariant().mean(inner[domains == d]), rtol=1e-7, atol=1e-7
        )


def test_refit_says_what_it_cannot_do():
    network = nn.Sequential(GBWBatchNorm(4, dtype=torch.float64))
    with pytest.raises(ValueError, match="empty"):
        refit(network, [])
    with pytest.raises(TypeError, match="only once"):
        refit(network, (x for x in [_data()]))
    with pytest.raises(ValueError, match="no normalisation layer"):
        refit(nn.Sequential(nn.Identity()), [_data()])
    assert network.training
