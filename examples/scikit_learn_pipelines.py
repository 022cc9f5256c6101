"""scikit-learn: pipelines, a grid search over normalisations, and transfer between sessions."""

from __future__ import annotations

import numpy as np
from pyriemann.classification import MDM
from pyriemann.estimation import Covariances
from pyriemann.tangentspace import TangentSpace
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from spdnorm.estimators import EEGSPDNetClassifier, RiemannianBatchNormTransformer, SPDNetClassifier

rng = np.random.default_rng(0)
y = np.arange(80) % 2
mixing = rng.normal(size=(6, 6))
time = np.arange(128) / 128
sources = rng.normal(size=(80, 6, 128))
sources[:, 0] += 1.5 * np.sin(2 * np.pi * (np.array([9.0, 14.0])[y, None] * time + rng.random((80, 1))))
sources[:, 1] *= np.where(y, 1.5, 0.8)[:, None]
signals = mixing @ sources

pipelines = {
    "MDM": make_pipeline(Covariances("oas"), MDM()),
    "GBWBN, tangent space": make_pipeline(
        Covariances("oas"),
        RiemannianBatchNormTransformer("gbw", norm_options={"theta": 0.5}),
        TangentSpace(),
        LogisticRegression(),
    ),
    "SPDNet": make_pipeline(Covariances("oas"), SPDNetClassifier((4,), max_epochs=40, lr=0.01, random_state=0)),
    "EEGSPDNet": EEGSPDNetClassifier(max_epochs=20, lr=0.01, random_state=0),
}
for name, pipeline in pipelines.items():
    print(f"{name:22} {cross_val_score(pipeline, signals, y, cv=4).mean():.3f}")

search = GridSearchCV(pipelines["SPDNet"], {"spdnetclassifier__norm": ["none", "gbw", "spdm"]}, cv=3)
print("best normalisation:", search.fit(signals, y).best_params_)

later = rng.normal(size=(6, 6)) @ signals  # the electrodes have moved
for target in (False, True):
    model = make_pipeline(Covariances("oas"), RiemannianBatchNormTransformer("spd", target=target), MDM())
    print(f"moved electrodes, target={target!s:5}: {model.fit(signals, y).score(later, y):.3f}")
