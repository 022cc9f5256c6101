"""Synchronised layers in several processes equal one process with the whole batch."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.multiprocessing as mp
from sync_worker import LAYERS, Result, all_layers, part, process, splits, trained

from spdnorm.nn import convert_sync_batchnorm, norm_layer, norm_names
from spdnorm.testing import spd_matrices

#: Of the largest entry.
TOLERANCE = 1e-10
#: What a process has of its own samples; everything else is the same in all of them.
PER_SAMPLE = ("y", "x.grad", "x.second")


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.slow)])
def processes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each of 2, or 4, gloo processes found."""
    world, folder = request.param, tmp_path_factory.mktemp("sync")
    mp.spawn(process, args=(world, str(folder)), nprocs=world)
    return [torch.load(Path(folder) / f"{rank}.pt", weights_only=True) for rank in range(world)]


@pytest.fixture(scope="module")
def alone() -> dict[str, Result]:
    return all_layers(None)


def assert_close(found: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    assert found.shape == expected.shape, what
    if expected.numel():
        worst = ((found - expected).abs().max() / expected.abs().max().clamp_min(1e-300)).item()
        assert worst <= TOLERANCE, f"{what}: {worst:.1e}"


def test_every_layer_equals_one_process_with_the_whole_batch(processes, alone):
    compared = 0
    for which, sizes in enumerate(splits(len(processes))):
        for layer, expected in alone.items():
            for key, value in expected.items():
                own = key.partition(".")[2] in PER_SAMPLE
                for rank, found in enumerate(processes):
                    wanted = value[part(sizes, rank)] if own else value
                    assert_close(found["layers"][which][layer][key].double(), wanted.double(), f"{layer} {sizes} {key}")
                    compared += 1
    assert compared > 1000


def test_buffers_are_the_same_bits_in_all_processes(processes):
    for found in zip(*(p["layers"] for p in processes), strict=True):
        for layer, first in found[0].items():
            for key, value in first.items():
                if key.partition(".")[2] not in (*PER_SAMPLE, "y"):
                    assert all(torch.equal(value, other[layer][key]) for other in found[1:]), (layer, key)


def test_a_batch_that_is_empty_everywhere_changes_nothing(processes):
    assert all(p["nothing"] for p in processes)


def test_ddp_training_equals_one_process_parameter_by_parameter(processes):
    expected = trained(None)
    for found in processes:
        assert found["trained"].keys() == expected.keys()
        for name, value in expected.items():
            assert_close(found["trained"][name].double(), value.double(), name)


def test_a_converted_layer_on_a_single_process_is_itself():
    x = spd_matrices(4, 6)
    for name in norm_names():
        if name == "none":
            continue
        layer = norm_layer(name, 4, dtype=torch.float64)
        converted = convert_sync_batchnorm(copy.deepcopy(layer))
        assert torch.equal(converted(x), layer(x))
        assert all(torch.equal(a, b) for a, b in zip(converted.buffers(), layer.buffers(), strict=True))


def test_the_list_has_every_layer():
    made = {type(make(2)).__name__ for make in LAYERS.values()}
    assert {type(norm_layer(name, 2)).__name__ for name in norm_names() if name != "none"} <= made
