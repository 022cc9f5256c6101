"""braindecode, MOABB and spd_learn: ours in theirs, theirs in ours."""

from __future__ import annotations

import copy
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from spdnorm.estimators import EEGSPDNetClassifier, RiemannianBatchNormTransformer, SPDNetClassifier
from spdnorm.geometry import random_spd
from spdnorm.models import EEGSPDNet, SPDNet
from spdnorm.nn import GBWBatchNorm, LieBatchNorm

Data = tuple[np.ndarray, np.ndarray]


def test_braindecodes_classifier_trains_the_eeg_network(signals: Data) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from braindecode import EEGClassifier
    x, y = (signals[0] * 1e6).astype(np.float32), signals[1]
    torch.manual_seed(0)
    classifier = EEGClassifier(
        module=EEGSPDNet,
        module__norm="gbw",
        module__norm_options={"theta": 0.5},
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        optimizer__lr=0.01,
        max_epochs=20,
        batch_size=20,
        train_split=None,
        classes=[0, 1],
        verbose=0,
    )
    classifier.fit(x[:60], y[:60])
    assert (classifier.module_.n_chans, classifier.module_.n_times) == (4, 100)
    assert (classifier.predict(x[60:]) == y[60:]).mean() > 0.9
    for again in (copy.deepcopy(classifier), pickle.loads(pickle.dumps(classifier))):
        np.testing.assert_array_equal(again.predict_proba(x), classifier.predict_proba(x))


def test_moabbs_evaluation_beside_pyriemanns_pipelines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MNE_DATA", str(tmp_path))
    warnings.simplefilter("ignore")
    import mne
    import moabb
    from moabb.datasets.fake import FakeDataset
    from moabb.evaluations import WithinSessionEvaluation
    from moabb.paradigms import LeftRightImagery
    from pyriemann.classification import MDM
    from pyriemann.estimation import Covariances
    from pyriemann.tangentspace import TangentSpace

    mne.set_log_level("ERROR")
    moabb.set_log_level("error")
    pipelines = {
        "MDM": make_pipeline(Covariances("oas"), MDM()),
        "TS+LR": make_pipeline(Covariances("oas"), TangentSpace(), LogisticRegression()),
        "GBWBN+TS+LR": make_pipeline(
            Covariances("oas"), RiemannianBatchNormTransformer("gbw"), TangentSpace(), LogisticRegression()
        ),
        "SPDNet-GBWBN": make_pipeline(Covariances("oas"), SPDNetClassifier((2,), max_epochs=2, random_state=0)),
        "EEGSPDNet-GBWBN": make_pipeline(EEGSPDNetClassifier(max_epochs=2, random_state=0)),
    }
    dataset = FakeDataset(["left_hand", "right_hand"], n_subjects=1, n_sessions=1, n_runs=1)
    evaluation = WithinSessionEvaluation(
        paradigm=LeftRightImagery(),
        datasets=[dataset],
        overwrite=True,
        hdf5_path=str(tmp_path),
        n_splits=3,
        random_state=0,
    )
    results = evaluation.process(pipelines)
    assert set(results["pipeline"]) == set(pipelines)
    assert results["score"].between(0, 1).all()


def test_our_norms_drop_into_spd_learns_network() -> None:
    from spd_learn.models import TSMNet

    torch.manual_seed(0)
    network = TSMNet(n_chans=4, n_outputs=2, n_bimap_filters=8, n_spatiotemp_filters=12)
    for norm in (GBWBatchNorm(8, theta=0.5), LieBatchNorm(8, metric="lcm")):
        network.spdbnorm = norm
        y = network.train()(torch.randn(10, 4, 100))
        y.logsumexp(1).sum().backward()
        assert y.shape == (10, 2)
        assert norm.bias.isfinite().all()
        assert norm.parametrizations.bias.original.grad.abs().sum() > 0
        assert not torch.equal(norm.running_mean, torch.eye(8))
        assert network.eval()(torch.randn(1, 4, 100)).isfinite().all()


def test_spd_learns_layers_drop_into_ours() -> None:
    from spd_learn.modules import BiMap, LogEig, ReEig, SPDBatchNormMeanVar

    torch.manual_seed(0)
    x = random_spd(8, 10, dtype=torch.float32)
    model = SPDNet((8, 5), 3, norm=SPDBatchNormMeanVar, norm_options={"momentum": 0.2})
    assert isinstance(model.blocks[0].norm, SPDBatchNormMeanVar)
    model.blocks[0].bimap = BiMap(8, 5)
    model.blocks[0].rectify = ReEig()
    model.logeig = LogEig(upper=True)
    y = model(x)
    y.logsumexp(1).sum().backward()
    assert y.shape == (10, 3)
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)
