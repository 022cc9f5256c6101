"""Estimators of scikit-learn's kind: fitted on a case, and asked about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from spdnorm.testing.fuzz.cases import Case, matrices, signals
from spdnorm.testing.fuzz.properties import finite, spd
from spdnorm.testing.fuzz.targets.common import Target


def _transformer(case: Case) -> Any:
    from spdnorm.estimators import RiemannianBatchNormTransformer

    theta = case.rng.choice((0.5, 1.0))
    return RiemannianBatchNormTransformer("gbw", norm_options={"theta": theta}, dtype=_name(case.dtype))


def _spdnet(case: Case) -> Any:
    from spdnorm.estimators import SPDNetClassifier

    return SPDNetClassifier(max_epochs=1, batch_size=128, random_state=0, dtype=_name(case.dtype))


def _eegspdnet(case: Case) -> Any:
    from spdnorm.estimators import EEGSPDNetClassifier

    return EEGSPDNetClassifier(
        (6, 4), spatial_filters=4, kernel_size=5, max_epochs=1, batch_size=128, random_state=0, dtype=_name(case.dtype)
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


ESTIMATORS: dict[str, Callable[[Case], Any]] = {"norm": _transformer, "spdnet": _spdnet, "eegspdnet": _eegspdnet}


def estimator(name: str) -> Target:
    """Fit, then transform or predict; the answer about a sample depends on nothing but the sample."""

    def run(case: Case) -> Iterator[str]:
        # Two classes need two samples.
        size = max(case.batch, 2)
        x = (signals if name == "eegspdnet" else matrices)(case, samples=size).numpy()
        model = ESTIMATORS[name](case).fit(x, np.arange(size) % 2)
        if name == "norm":
            out = torch.as_tensor(model.transform(x))
            yield from spd("transformed", out)
            return
        answers = torch.as_tensor(model.predict_proba(x))
        yield from finite("probabilities", answers)
        for key, value in model.module_.state_dict().items():
            yield from finite(key, value)
        if bool(((answers.sum(1) - 1).abs() > 1e-6).any()):
            yield "probabilities do not sum to one"

    return run
