"""Covariance against NumPy, scikit-learn and MAtt's segmentation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.covariance import ledoit_wolf, oas

from spdnorm.functional.covariance import covariance, segment_lengths
from spdnorm.nn import Covariance


@pytest.fixture
def signals() -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    mixing = torch.randn(6, 6, generator=g, dtype=torch.float64)
    return mixing @ torch.randn(3, 6, 40, generator=g, dtype=torch.float64) + 2.0


def test_sample_covariance_is_numpys(signals: torch.Tensor) -> None:
    c = Covariance(regularization="none")(signals)
    for i in range(3):
        np.testing.assert_allclose(c[i], np.cov(signals[i]), rtol=1e-12)
    biased = Covariance(regularization="none", correction=0)(signals)
    torch.testing.assert_close(biased, c * 39 / 40)
    raw = Covariance(regularization="none", center=False, correction=0)(signals)
    torch.testing.assert_close(raw, signals @ signals.mT / 40)


def test_regularisations(signals: torch.Tensor) -> None:
    plain = Covariance(regularization="none")(signals)
    trace = plain.diagonal(dim1=-2, dim2=-1).sum(-1)[:, None, None]
    eye = torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(Covariance(epsilon=1e-2)(signals), plain + 1e-2 * trace * eye)
    torch.testing.assert_close(Covariance(regularization="plain", epsilon=1e-2)(signals), plain + 1e-2 * eye)
    # MAtt: C / tr(C) + lambda I
    matt = Covariance(trace_normalize=True, regularization="plain", epsilon=1e-5)(signals)
    torch.testing.assert_close(matt, plain / trace + 1e-5 * eye)


@pytest.mark.parametrize(("name", "reference"), [("oas", oas), ("ledoit-wolf", ledoit_wolf)])
def test_shrinkage_estimators_are_scikit_learns(signals: torch.Tensor, name: str, reference: object) -> None:
    c = Covariance(estimator=name, regularization="none")(signals)
    for i in range(3):
        np.testing.assert_allclose(c[i], reference(signals[i].numpy().T)[0], rtol=1e-10)  # type: ignore[operator]


def test_fixed_shrinkage(signals: torch.Tensor) -> None:
    plain = Covariance(regularization="none")(signals)
    drawn = Covariance(estimator="shrinkage", shrinkage=0.25, regularization="none")(signals)
    mu = plain.diagonal(dim1=-2, dim2=-1).mean(-1)[:, None, None]
    torch.testing.assert_close(drawn, 0.75 * plain + 0.25 * mu * torch.eye(6, dtype=torch.float64))


def test_segments_cut_time_as_matt_does(signals: torch.Tensor) -> None:
    assert segment_lengths(126, 4) == [32, 32, 31, 31]
    c = Covariance(segments=3, regularization="none")(signals)
    assert c.shape == (3, 3, 6, 6)
    parts = torch.split(signals, segment_lengths(40, 3), dim=-1)
    for i, part in enumerate(parts):
        torch.testing.assert_close(c[:, i], Covariance(regularization="none")(part))
    assert Covariance(segments=1)(signals).shape == (3, 1, 6, 6)


def test_fewer_samples_than_channels_become_definite_by_regularisation() -> None:
    x = torch.randn(4, 8, 5)
    assert (torch.linalg.eigvalsh(Covariance(epsilon=1e-3)(x)) > 0).all()
    assert (torch.linalg.eigvalsh(Covariance(estimator="oas", regularization="none")(x)) > 0).all()


@pytest.mark.parametrize("estimator", ["sample", "shrinkage", "oas", "ledoit-wolf"])
def test_gradients(estimator: str) -> None:
    x = torch.randn(2, 3, 9, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Covariance(estimator=estimator, segments=2), x)


def test_errors_name_the_argument() -> None:
    for options, message in (
        ({"estimator": "lwf"}, "`estimator`"),
        ({"regularization": "ridge"}, "`regularization`"),
        ({"shrinkage": 2.0}, "`shrinkage`"),
        ({"epsilon": -1.0}, "`epsilon`"),
        ({"segments": 0}, "`segments`"),
    ):
        with pytest.raises(ValueError, match=message):
            Covariance(**options)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=message):
            covariance(torch.randn(3, 8), **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="more than 1 samples"):
        Covariance(segments=5)(torch.randn(1, 3, 8))
    with pytest.raises(ValueError, match="more than 0 samples"):
        Covariance(segments=9, estimator="oas")(torch.randn(1, 3, 8))
    with pytest.raises(ValueError, match="must have shape"):
        Covariance()(torch.randn(8))
