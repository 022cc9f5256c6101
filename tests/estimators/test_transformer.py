"""The normalisations without a network: what they do to a set's statistics, domains, transfer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pyriemann.classification import MDM
from pyriemann.tangentspace import TangentSpace
from pyriemann.utils.mean import mean_riemann
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from spdnorm.estimators import RiemannianBatchNormTransformer
from spdnorm.geometry import get

Data = tuple[np.ndarray, np.ndarray]

METHODS = {
    "gbw": ("gbw", {}, get("bwm")),
    "gbw-0.5": ("gbw", {"theta": 0.5}, get("bwm", theta=0.5)),
    "bw": ("bw", {}, get("bwm")),
    "spd": ("spd", {}, get("aim")),
    "spdm": ("spdm", {}, get("aim")),
    "manifold": ("manifold", {"metric": "lem", "algorithm": 2}, get("lem")),
    "lie-aim": ("lie", {"metric": "aim"}, get("aim")),
    "lie-lem": ("lie", {"metric": "lem"}, get("lem")),
    "lie-lcm": ("lie", {"metric": "lcm"}, get("lcm")),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_set_is_centred_at_the_identity_with_unit_variance(matrices: Data, name: str) -> None:
    norm, options, metric = METHODS[name]
    x, eye = matrices[0], torch.eye(6, dtype=torch.float64)
    y = torch.as_tensor(RiemannianBatchNormTransformer(norm, norm_options=options).fit_transform(x))
    assert (torch.linalg.eigvalsh(y) >= -1e-12).all()
    if norm.endswith("bw"):
        # The transport of points is no isometry here, and some fold: the spread about I is what is set, nearly.
        assert metric.squared_distance(y, eye).mean() == pytest.approx(1, abs=0.1)
        return
    torch.testing.assert_close(metric.mean(y), eye, rtol=0, atol=1e-6)
    if name != "spd":
        assert metric.variance(y) == pytest.approx(1, abs=1e-3)


def test_the_affine_invariant_mean_is_pyriemanns(matrices: Data) -> None:
    transformer = RiemannianBatchNormTransformer("spd").fit(matrices[0])
    np.testing.assert_allclose(
        transformer.statistics_[None]["running_mean"], mean_riemann(matrices[0], tol=1e-12), rtol=1e-6
    )


def test_target_statistics_undo_a_change_of_session(matrices: Data) -> None:
    x, y = matrices
    a = np.random.default_rng(1).normal(size=(6, 6))
    shifted = a @ x @ a.T
    plain, transfer = (
        make_pipeline(RiemannianBatchNormTransformer("spd", target=t), MDM()).fit(x, y) for t in (False, True)
    )
    own = transfer[0].transform(shifted)
    np.testing.assert_allclose(mean_riemann(own, tol=1e-12), np.eye(6), atol=1e-6)
    assert np.linalg.norm(mean_riemann(plain[0].transform(shifted)) - np.eye(6)) > 1
    np.testing.assert_allclose(transfer[0].fit(x).transform(x), plain[0].transform(x))


def test_domains_have_statistics_of_their_own(matrices: Data) -> None:
    x, _ = matrices
    domains = np.arange(len(x)) % 3
    scaled = x * np.array([1.0, 10.0, 100.0])[domains, None, None]
    transformer = RiemannianBatchNormTransformer("spd").fit(scaled, domains=domains)
    together = transformer.transform(scaled, domains=domains)
    for d in range(3):
        alone = RiemannianBatchNormTransformer("spd").fit_transform(x[domains == d])
        np.testing.assert_allclose(together[domains == d], alone, rtol=1e-6, atol=1e-9)
    again = RiemannianBatchNormTransformer("spd").fit_transform(scaled, domains=domains)
    np.testing.assert_array_equal(again, together)
    with pytest.raises(ValueError, match="no statistics for domain 7"):
        transformer.transform(x, domains=np.full(len(x), 7))
    new = RiemannianBatchNormTransformer("spd", target=True).fit(scaled, domains=domains)
    np.testing.assert_allclose(
        new.transform(x, domains=np.full(len(x), 7)), RiemannianBatchNormTransformer("spd").fit_transform(x)
    )
    with pytest.raises(ValueError, match="`domains` must have shape"):
        transformer.transform(x, domains=[0, 1])


def test_domains_reach_the_transformer_through_a_pipeline(matrices: Data) -> None:
    x, y = matrices
    domains = np.array(["monday", "tuesday"])[np.arange(len(x)) // 2 % 2]
    scaled = x * np.where(domains == "tuesday", 50.0, 1.0)[:, None, None]
    with config_context(enable_metadata_routing=True):
        transformer = RiemannianBatchNormTransformer("spd").set_fit_request(domains=True)
        pipeline = make_pipeline(transformer.set_transform_request(domains=True), MDM())
        pipeline.fit(scaled[:80], y[:80], domains=domains[:80])
        found = pipeline.predict(scaled[80:], domains=domains[80:])
    assert (found == y[80:]).mean() > 0.9
    assert set(pipeline[0].statistics_) == {"monday", "tuesday"}


@pytest.mark.parametrize("norm", ["gbw", "spdm", "lie"])
def test_in_pyriemanns_pipelines(matrices: Data, norm: str) -> None:
    x, y = matrices
    tangent = make_pipeline(RiemannianBatchNormTransformer(norm), TangentSpace(), LogisticRegression())
    assert cross_val_score(tangent, x, y, cv=3).mean() > 0.9
    assert cross_val_score(make_pipeline(RiemannianBatchNormTransformer(norm), MDM()), x, y, cv=3).mean() > 0.9


def test_shapes_precision_and_errors(matrices: Data) -> None:
    x, _ = matrices
    assert RiemannianBatchNormTransformer("none").fit_transform(x) == pytest.approx(x)
    assert RiemannianBatchNormTransformer(dtype="float32").fit_transform(x).dtype == np.float32
    assert RiemannianBatchNormTransformer().fit_transform(np.stack([x, x], 1)).shape == (120, 2, 6, 6)
    assert RiemannianBatchNormTransformer().fit_transform(x[:, 0]).shape == (120, 7, 7)
    with pytest.raises(TypeError, match="refit"):
        RiemannianBatchNormTransformer(lambda n: torch.nn.Flatten()).fit(x)
    with pytest.raises(ValueError, match="unknown normalisation"):
        RiemannianBatchNormTransformer("batch").fit(x)
    with pytest.raises(ValueError, match="as in fit"):
        RiemannianBatchNormTransformer().fit(np.stack([x] * 6, 1)).transform(x)
