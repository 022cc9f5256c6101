"""Every operator of every metric against 50-digit arithmetic, SciPy, pyRiemann and geomstats."""

from __future__ import annotations

import pytest
import torch

from oracles import compare
from oracles.peers import bures_wasserstein_transport
from spdnorm.geometry import BuresWasserstein
from spdnorm.testing import spd_matrices, tangents


@pytest.mark.parametrize("condition", [10.0, 1e4, 1e8])
@pytest.mark.parametrize("name", list(compare.metrics()))
def test_against_the_exact_result_and_the_peers(name: str, condition: float) -> None:
    for operator in compare.OPERATORS:
        if operator == "mean" and condition == 1e4 and "theta" in name:
            continue  # slow in 50 digits; the ends of the range are tried
        row = compare.row(name, operator, condition, draws=2)
        limit = compare.allowed(name, operator, condition)
        if row.against_truth is not None:
            assert row.against_truth <= limit, f"{operator}: {row.against_truth:.1e} from the exact result"
        for peer, gap in row.against_peer.items():
            theirs = row.peer_against_truth.get(peer, 0.0)
            # A peer may only differ where 50 digits say that the peer is off.
            assert gap <= limit or theirs > 0.5 * gap, (
                f"{operator}: {gap:.1e} from {peer}, whose own error is {theirs:.1e}"
            )


def test_every_oracle_takes_part() -> None:
    row = compare.row("bwm", "distance", 10.0, draws=1)
    assert set(row.against_peer) == set(compare.PEERS)
    assert row.against_truth is not None
    assert max(row.against_peer.values()) < 1e-12


@pytest.mark.parametrize(("condition", "tolerance"), [(10.0, 5e-9), (1e3, 2e-7), (1e5, 5e-7)])
def test_integrated_transport(condition: float, tolerance: float) -> None:
    """The accuracy at the default number of steps that the docstring and docs/geometry.md state."""
    metric = BuresWasserstein()
    for seed in range(3):
        x, y = spd_matrices(4, 2, seed=seed, condition=condition)
        u = tangents(4, seed=seed)
        truth = torch.from_numpy(bures_wasserstein_transport(x.numpy(), y.numpy(), u.numpy()))
        assert compare.relative(metric.transport(x, y, u), truth) < tolerance


def test_integration_is_of_fourth_order_and_agrees_with_the_closed_form() -> None:
    x, y = spd_matrices(4, 2, condition=100.0)
    u = tangents(4)
    fine = BuresWasserstein(transport_steps=512).transport(x, y, u)
    errors = [compare.relative(BuresWasserstein(transport_steps=s).transport(x, y, u), fine) for s in (16, 32, 64)]
    assert 10 < errors[0] / errors[1] < 22
    assert 10 < errors[1] / errors[2] < 22
    powers = (x, torch.linalg.matrix_power(x, 3) + 0.1 * x)
    closed, integrated = (
        BuresWasserstein(transport_method=m, transport_steps=256).transport(*powers, u)
        for m in ("commuting", "integrate")
    )
    assert compare.relative(integrated, closed) < 1e-9
    assert compare.relative(BuresWasserstein().transport(*powers, u), closed) < 1e-14
