"""Every normalisation in SPDNet: it learns, in both precisions, and no long step leaves the constraints."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from problem import accuracy, fit, two_classes

from spdnorm import optim
from spdnorm.models import SPDNet
from spdnorm.nn import norm_names

NORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "none": ("none", {}),
    "gbw": ("gbw", {}),
    "gbw-0.5": ("gbw", {"theta": 0.5}),
    "bw": ("bw", {}),
    "spd": ("spd", {}),
    "spdm": ("spdm", {}),
    "manifold-aim-1": ("manifold", {"metric": "aim", "algorithm": 1}),
    "manifold-aim-2": ("manifold", {"metric": "aim", "algorithm": 2}),
    "manifold-lem-1": ("manifold", {"metric": "lem", "algorithm": 1}),
    "manifold-lem-2": ("manifold", {"metric": "lem", "algorithm": 2}),
    "lie-aim": ("lie", {"metric": "aim"}),
    "lie-lem": ("lie", {"metric": "lem"}),
    "lie-lcm": ("lie", {"metric": "lcm"}),
}


def test_no_normalisation_is_left_out() -> None:
    assert {name for name, _ in NORMS.values()} == set(norm_names())


def assert_constraints(model: SPDNet, tolerance: float = 1e-6, *, least: float = 0.0) -> None:
    """Orthonormal rows, and symmetric matrices whose eigenvalues exceed ``least`` times the largest."""
    for block in model.blocks:
        w = block.bimap.weight
        eye = torch.eye(w.shape[0], dtype=w.dtype)
        assert (w @ w.mT - eye).abs().max() < tolerance
        for name in ("bias", "metric", "running_mean"):
            value = getattr(block.norm, name, None)
            if isinstance(value, torch.Tensor):
                assert ((value - value.mT).abs().max() / value.abs().max()) < tolerance, name
                values = torch.linalg.eigvalsh(value)
                assert values.min() > least * values.max(), name


#: Run always; the other pairs of normalisation and precision are long work.
QUICK = {("none", torch.float64), ("gbw", torch.float32), ("lie-lcm", torch.float32)}
CASES = [
    pytest.param(norm, dtype, id=f"{norm}-{str(dtype)[6:]}", marks=[] if (norm, dtype) in QUICK else pytest.mark.slow)
    for norm in NORMS
    for dtype in (torch.float32, torch.float64)
]


@pytest.mark.parametrize(("norm", "dtype"), CASES)
def test_spdnet_learns_with_every_normalisation(norm: str, dtype: torch.dtype) -> None:
    x, y = two_classes(dtype=dtype)
    name, options = NORMS[norm]
    torch.manual_seed(0)
    model = SPDNet((12, 8), 2, norm=name, norm_options=options, dtype=dtype)
    # Twenty times Adam's default.
    fit(model, torch.optim.Adam(model.parameters(), lr=2e-2), x[:200], y[:200], steps=500)
    assert accuracy(model, x[200:], y[200:]) > 0.95
    assert_constraints(model)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", NORMS)
def test_steps_too_long_to_learn_leave_the_constraints_no_more_than_rounding_does(
    norm: str, dtype: torch.dtype
) -> None:
    x, y = two_classes(dtype=dtype)
    name, options = NORMS[norm]
    torch.manual_seed(0)
    model = SPDNet((12, 8), 2, norm=name, norm_options=options, dtype=dtype)
    # Forty times the paper's: in float32, matrices of a condition beyond what the precision holds.
    fit(model, torch.optim.Adam(model.parameters(), lr=0.1), x[:200], y[:200], steps=500)
    assert_constraints(model, least=-1e-6)
    assert all(p.isfinite().all() for p in model.state_dict().values())


@pytest.mark.parametrize(
    ("norm", "optimizer"),
    [
        pytest.param(
            norm,
            optimizer,
            marks=[] if (norm, optimizer) in (("gbw", "sgd"), ("none", "amsgrad")) else pytest.mark.slow,
        )
        for norm in ("gbw", "none", "spd", "spdm", "lie-aim")
        for optimizer in ("sgd", "adam", "amsgrad")
    ],
)
def test_spdnet_learns_on_manifold_parameters(norm: str, optimizer: str) -> None:
    x, y = two_classes(dtype=torch.float64)
    name, options = NORMS[norm]
    torch.manual_seed(0)
    model = SPDNet((12, 8), 2, norm=name, norm_options=options, parametrized=False, dtype=torch.float64)
    fit(model, optim.get(optimizer, model, lr=2e-2, weight_decay=1e-4), x[:200], y[:200], steps=200)
    assert accuracy(model, x[200:], y[200:]) > 0.95
    assert_constraints(model)
