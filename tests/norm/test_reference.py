"""The reference variant: each stated difference from the paper, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.helpers import spd_matrices
from tests.norm import transcription

from spdnorm.functional import gbw_batch_norm, reference_gbw_batch_norm
from spdnorm.functional.reference import TiesAsZero
from spdnorm.linalg import SQRT, spectrum
from spdnorm.nn import GBWBatchNorm


def _case():
    x = spd_matrices(4, 9, condition=8.0)
    m, g = spd_matrices(4, condition=3.0, seed=1), spd_matrices(4, condition=2.0, seed=2)
    return x, m, g


@pytest.mark.parametrize("theta", [1.0, 0.5])
def test_variance_is_about_the_identity_before_centring(theta):
    x, m, g = _case()
    var = torch.ones((), dtype=torch.float64)
    reference_gbw_batch_norm(x, torch.eye(4).double(), var, metric=m, bias=g, theta=theta, training=True, momentum=1.0)
    inverse_root = transcription._power(m.numpy(), -0.5)
    hats = [inverse_root @ transcription._power(v, theta) @ inverse_root for v in x.numpy()]
    expected = np.mean([transcription.squared_distance(np.eye(4), h) for h in hats]) / theta**2
    assert var.item() == pytest.approx(expected, rel=1e-10)


def test_only_the_variance_differs_in_the_forward_pass():
    """With the reference's variance in place of its own, the paper's evaluation gives the same output."""
    x, m, g = _case()
    mean, var = torch.eye(4).double(), torch.ones((), dtype=torch.float64)
    out = reference_gbw_batch_norm(x, mean, var, metric=m, bias=g, training=True, momentum=1.0)
    torch.testing.assert_close(gbw_batch_norm(x, mean, var, metric=m, bias=g), out, rtol=1e-9, atol=1e-9)


def test_statistics_are_detached():
    x, m, g = _case()
    gradients = []
    for function, options in (
        (reference_gbw_batch_norm, {}),
        (gbw_batch_norm, {"stats_grad": True}),
    ):
        leaf = x.clone().requires_grad_()
        mean, var = torch.eye(4).double(), torch.ones((), dtype=torch.float64)
        out = function(leaf, mean, var, metric=m, bias=g, training=True, momentum=1.0, **options)
        gradients.append(torch.autograd.grad(out.square().sum(), leaf)[0])
        # As if the statistics had been given.
        given = function(leaf, mean, var, metric=m, bias=g, training=False)
        frozen = torch.autograd.grad(given.square().sum(), leaf)[0]
        same = torch.allclose(gradients[-1], frozen, rtol=1e-8)
        assert same is (function is reference_gbw_batch_norm)


def test_raw_bias_target_moves_to_the_bias_itself():
    x, m, g = _case()
    raw = reference_gbw_batch_norm(x, metric=m, bias=g, theta=0.5, bias_target="raw", training=True)
    root = torch.from_numpy(transcription._power(m.numpy(), 0.5))
    image = root @ g @ root
    # G in place of its image G_hat = M^-1/2 G^theta M^-1/2: the same as a bias whose image is G.
    inverse_image = image @ image
    deformed = reference_gbw_batch_norm(x, metric=m, bias=inverse_image, theta=0.5, training=True)
    torch.testing.assert_close(raw, deformed, rtol=1e-9, atol=1e-9)


def test_ties_count_as_zero_off_the_diagonal():
    x = torch.diag(torch.tensor([1.0, 1.0, 4.0], dtype=torch.float64)).requires_grad_()
    direction = torch.ones(3, 3, dtype=torch.float64)
    (exact,) = torch.autograd.grad((spectrum(x).apply(SQRT) * direction).sum(), x)
    (script,) = torch.autograd.grad((spectrum(x).apply(TiesAsZero(SQRT)) * direction).sum(), x)
    assert exact[0, 1].item() == pytest.approx(0.5)
    assert script[0, 1].item() == 0.0
    exact[0, 1] = exact[1, 0] = 0
    torch.testing.assert_close(script, exact)


def test_layer_has_the_variant():
    layer = GBWBatchNorm(4, variant="reference", theta=0.5, bias_target="raw", dtype=torch.float64)
    out = layer(spd_matrices(4, 6))
    out.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())
    with pytest.raises(ValueError, match="bias_target"):
        GBWBatchNorm(4, bias_target="raw")
