"""Classifiers without a network on the very samples that the networks train and are tested on.

pyRiemann's minimum distance to mean and tangent space (Barachant et al., "Multiclass brain-computer interface
classification by Riemannian geometry", IEEE TBME 59 (2012)), the latter with logistic regression. They have no seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..datasets.extras import require
from .config import DataConfig
from .data import Part, load_task
from .errors import ConfigError

__all__ = ["BASELINES", "baseline_accuracies", "make_baseline"]

#: Name -> what tables call it.
BASELINES = {
    "mdm": "MDM",
    "fgmdm": "FgMDM",
    "ts-lr": "tangent space + logistic regression",
}

_PURPOSE = "baselines without a network"


def make_baseline(name: str) -> Any:
    """Return a scikit-learn classifier of SPD matrices (N, n, n), as pyRiemann sets it up: nothing is tuned.

    Examples
    --------
    >>> from spdnorm.experiments import make_baseline
    >>> make_baseline("mdm").metric
    'riemann'
    """
    if name not in BASELINES:
        raise ConfigError(f"no baseline is named {name!r}; there are {', '.join(BASELINES)}")
    classification = require("pyriemann.classification", extra="sklearn", purpose=_PURPOSE)
    if name == "mdm":
        return classification.MDM(metric="riemann")
    if name == "fgmdm":
        return classification.FgMDM(metric="riemann")
    tangent = require("pyriemann.tangentspace", extra="sklearn", purpose=_PURPOSE)
    linear = require("sklearn.linear_model", extra="sklearn", purpose=_PURPOSE)
    pipeline = require("sklearn.pipeline", extra="sklearn", purpose=_PURPOSE)
    return pipeline.make_pipeline(tangent.TangentSpace(metric="riemann"), linear.LogisticRegression(max_iter=1000))


def baseline_accuracies(
    name: str, config: DataConfig, *, recentred: bool = False, data_dir: str | None = None
) -> dict[str, float]:
    """Fit on the training part, and return the accuracy (0..1) on the test and, where there is one, validation part.

    Parameters
    ----------
    name : str
        A key of :data:`BASELINES`.
    config : DataConfig
        What a network would be given, as covariance matrices (``covariance`` set, or a data set of matrices).
    recentred : bool
        Whiten every part by its own Riemannian mean, and with ``config.domain`` every domain in it: the unlabelled
        adaptation of these classifiers (Zanini et al., "Transfer learning: a Riemannian geometry framework with
        applications to brain-computer interfaces", IEEE TBME 65 (2018)).
    data_dir : str, optional

    Examples
    --------
    >>> from spdnorm.experiments import baseline_accuracies, load_recipe
    >>> data = load_recipe("demo").entries(quick=True)[0].config.data
    >>> sorted(baseline_accuracies("mdm", data))
    ['test', 'validation']
    """
    task = load_task(config, data_dir=data_dir, dtype=torch.float64)
    if task.holds_signals:
        raise ConfigError(f"data.covariance is missing: {config.name!r} holds signals, a baseline takes matrices")
    classifier = make_baseline(name).fit(_matrices(task.train, recentred), task.train.y.numpy())
    found = {"test": task.test} | ({} if task.validation is None else {"validation": task.validation})
    return {
        key: float((classifier.predict(_matrices(part, recentred)) == part.y.numpy()).mean())
        for key, part in found.items()
    }


def _matrices(part: Part, recentred: bool) -> np.ndarray:
    x = part.x.numpy()
    if not recentred:
        return x
    whitening = require("pyriemann.preprocessing", extra="sklearn", purpose=_PURPOSE).Whitening
    domains = np.zeros(len(part)) if part.domains is None else part.domains.numpy()
    centred = np.empty_like(x)
    for domain in np.unique(domains):
        rows = domains == domain
        centred[rows] = whitening(metric="riemann").fit_transform(x[rows])
    return centred
