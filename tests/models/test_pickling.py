"""Whole networks in pickles and in ``torch.save``."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from spdnorm.geometry import random_spd
from spdnorm.models import RResNet, SPDNet
from spdnorm.nn import norm_names


def by_torch(model: nn.Module) -> nn.Module:
    stream = io.BytesIO()
    torch.save(model, stream)
    stream.seek(0)
    return torch.load(stream, weights_only=False)


WAYS = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "torch": by_torch, "copy": copy.copy, "deep": copy.deepcopy}


@pytest.mark.parametrize("parametrized", [True, False])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("norm", norm_names())
def test_a_network_comes_back_to_the_last_bit_and_trains_on(norm: str, way: str, parametrized: bool) -> None:
    torch.manual_seed(0)
    build = SPDNet if norm != "none" else RResNet
    model = build((6, 4), 2, norm=norm, parametrized=parametrized, dtype=torch.float64)
    x, y = random_spd(6, 10), torch.arange(10) % 2
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    nn.functional.cross_entropy(model(x), y).backward()
    if parametrized:
        optimizer.step()
    again = WAYS[way](model)
    assert again.state_dict().keys() == model.state_dict().keys()
    for a, b in zip(again.state_dict().values(), model.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    assert torch.equal(again.eval()(x), model.eval()(x))
    for module, other in zip(again.modules(), model.modules(), strict=True):
        assert parametrize.is_parametrized(module) == parametrize.is_parametrized(other)
    again.train().zero_grad()
    nn.functional.cross_entropy(again(x), y).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in again.parameters())
    # A copy can be copied, and the original has kept all that is its own.
    assert torch.equal(WAYS[way](again).eval()(x), again.eval()(x))
    assert model(x).isfinite().all()
