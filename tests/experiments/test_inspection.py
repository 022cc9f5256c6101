"""What is said of a normalisation's features, against the geometry and numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spdnorm.experiments import fold_shares, inspect_normalisation
from spdnorm.experiments.data import Part
from spdnorm.geometry import BuresWasserstein, random_spd
from spdnorm.models import SPDNet
from spdnorm.nn import BWBatchNorm, GBWBatchNorm
from spdnorm.testing import spd_matrices

EYE = torch.eye(3, dtype=torch.float64)


def spread(n: int, seed: int) -> torch.Tensor:
    """Matrices far enough apart for some of them to fold."""
    return torch.cat([spd_matrices(3, n, condition=8.0**k, seed=seed + k) * 3.0 ** (k - 2) for k in range(1, 4)])


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_folds_are_those_of_the_transported_vectors(factor: float) -> None:
    x, metric = spread(20, seed=0), BuresWasserstein()
    norm = BWBatchNorm(3, dtype=torch.float64, eps=0.0)
    norm.refit(x)
    mean, variance = norm.running_mean, norm.running_var
    assert mean is not None
    assert variance is not None
    with torch.no_grad():
        norm.scale.fill_(factor * variance.sqrt())  # type: ignore[union-attr]
    inner = EYE + metric.transport(mean, EYE, metric.log(mean, x)) / 2
    values, basis = torch.linalg.eigh(inner)
    root = EYE + factor * ((basis * values.abs().unsqueeze(-2)) @ basis.mT - EYE)
    found = fold_shares(norm.eval(), x)
    assert found["folds_centring"] == pytest.approx(float((values[:, 0] < 0).double().mean()))
    last = torch.linalg.eigvalsh(root)
    assert found["folds_scaling"] == pytest.approx(float((last[:, 0] < 0).double().mean()))
    assert found["nearest"] == pytest.approx(float(last.abs().amin(-1).median()), rel=1e-6)
    assert 0 < found["folds_centring"] < 1


def test_a_metric_is_a_change_of_the_samples() -> None:
    x = spread(10, seed=3)
    general, plain = GBWBatchNorm(3, dtype=torch.float64), BWBatchNorm(3, dtype=torch.float64)
    root = spd_matrices(3, 1, condition=4.0, seed=9)[0]
    with torch.no_grad():
        general.metric = root @ root  # type: ignore[assignment]
    inverse = torch.linalg.inv(root)
    general.refit(x)
    plain.refit(inverse @ x @ inverse)
    mine, other = fold_shares(general.eval(), x), fold_shares(plain.eval(), inverse @ x @ inverse)
    assert mine == pytest.approx(other, rel=1e-6)


@pytest.mark.parametrize("norm", ["none", "spd", "lie", "gbw", "bw"])
def test_features_are_measured_and_the_network_is_left_as_it_was(norm: str) -> None:
    torch.manual_seed(0)
    model = SPDNet((4, 3), 2, norm=norm, dtype=torch.float64)
    part = Part(random_spd(4, 20, condition=50.0), torch.arange(20) % 2)
    model(part.x)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    seen: list[torch.Tensor] = []
    handle = model.blocks[0].norm.register_forward_hook(lambda module, inputs, out: seen.extend((inputs[0], out)))
    found = inspect_normalisation(model, part)
    handle.remove()
    assert model.training
    assert all(torch.equal(state[key], value) for key, value in model.state_dict().items())
    for side, matrices in zip(("before", "after"), seen, strict=True):
        values = np.linalg.eigvalsh(matrices.detach().numpy())
        # torch's median of an even number is the lower of the two in the middle.
        assert found[f"condition_{side}"] == pytest.approx(np.sort(values[:, -1] / values[:, 0])[9])
        assert found[f"size_{side}"] == pytest.approx(np.exp(np.log(values).mean()))
    vectors = model.eval().features(part.x).detach().numpy()
    means = np.stack([vectors[::2].mean(0), vectors[1::2].mean(0)])
    within = ((vectors - means[np.arange(20) % 2]) ** 2).sum(1).mean()
    assert found["separation"] == pytest.approx(((means - means.mean(0)) ** 2).sum(1).mean() / within)
    assert ("metric_min" in found) == (norm == "gbw")
    assert ("folds_centring" in found) == (norm in ("gbw", "bw"))
    assert ("factor" in found) == ("scale" in found) == (norm in ("lie", "gbw", "bw"))
