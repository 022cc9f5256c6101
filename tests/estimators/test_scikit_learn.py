"""scikit-learn's own checks, and the classifiers in its tools."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from torch import nn

from spdnorm.estimators import EEGSPDNetClassifier, RiemannianBatchNormTransformer, SPDNetClassifier

Data = tuple[np.ndarray, np.ndarray]

#: A table is taken by all three, and no check needs an exception on account of the input's shape. What is normalised
#: by its own statistics depends on the set that it comes with.
BY_DESIGN = {"check_methods_subset_invariance": "target=True normalises a set by its own statistics"}
SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        pytest.param(RiemannianBatchNormTransformer(), {}, id="transformer"),
        pytest.param(RiemannianBatchNormTransformer("spdm", target=True), BY_DESIGN, id="target"),
        pytest.param(SPDNetClassifier(max_epochs=6, lr=0.05), {}, id="spdnet"),
        pytest.param(EEGSPDNetClassifier(max_epochs=12, lr=0.02), {}, id="eegspdnet", marks=SLOW),
        pytest.param(
            SPDNetClassifier(max_epochs=20, lr=0.05, norm="spdm", optimizer="amsgrad"), {}, id="manifold", marks=SLOW
        ),
    ],
)
def test_check_estimator(estimator: object, expected: dict[str, str]) -> None:
    results = check_estimator(estimator, expected_failed_checks=expected, on_fail="raise", on_skip=None)
    # The one that may be skipped needs an environment variable set before SciPy is imported.
    others = {r["check_name"] for r in results if r["status"] != "passed"}
    assert others <= {"check_array_api_input"} | set(expected)
    assert len(results) - len(others) > 40


def quick(**options: object) -> SPDNetClassifier:
    return SPDNetClassifier((4,), **{"max_epochs": 30, "lr": 0.02, "random_state": 0, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", ["torch-adam", "amsgrad"])
def test_matrices_are_classified(matrices: Data, dtype: str, optimizer: str) -> None:
    x, y = matrices
    model = quick(dtype=dtype, optimizer=optimizer, norm_options={"theta": 0.5}).fit(x[:80], y[:80])
    assert model.score(x[80:], y[80:]) > 0.9
    assert list(model.classes_) == ["left", "right"]
    probabilities = model.predict_proba(x[80:])
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert (model.classes_[probabilities.argmax(1)] == model.predict(x[80:])).all()
    assert model.n_iter_ == 30
    assert model.history_[-1]["train_loss"] < model.history_[0]["train_loss"]


def test_signals_are_classified(signals: Data) -> None:
    x, y = signals
    model = EEGSPDNetClassifier(max_epochs=25, lr=0.01, random_state=0, norm="spdm").fit(x[:60], y[:60])
    assert model.score(x[60:], y[60:]) > 0.9
    assert model.predict(x[60:, :, :80]).shape == (20,)  # another length


def test_channels_of_matrices(matrices: Data) -> None:
    x, y = matrices
    both = np.stack([x, x[:, ::-1, ::-1]], axis=1)
    assert quick().fit(both[:80], y[:80]).score(both[80:], y[80:]) > 0.9


def test_the_seed_decides_and_the_global_generator_is_left_alone(matrices: Data) -> None:
    x, y = matrices
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    first, second, other = (quick(max_epochs=2, random_state=s).fit(x, y).predict_proba(x) for s in (1, 1, 2))
    assert torch.equal(before, torch.random.get_rng_state())
    assert (first == second).all()
    assert not (first == other).all()


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))], ids=["copy", "pickle"])
@pytest.mark.parametrize("optimizer", ["torch-adam", "adam"])
def test_a_fitted_model_survives_copying(matrices: Data, duplicate, optimizer: str) -> None:  # type: ignore[no-untyped-def]
    x, y = matrices
    model = quick(max_epochs=3, optimizer=optimizer).fit(x, y)
    again = duplicate(model)
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    assert again.history_ == model.history_
    duplicate(quick())
    with pytest.raises(NotFittedError):
        clone(model).predict(x)


def test_parameters_set_after_fit_leave_the_fitted_model_alone(matrices: Data) -> None:
    x, y = matrices
    options = {"theta": 0.5}
    model = quick(max_epochs=2, norm_options=options).fit(x, y)
    before = model.predict_proba(x)
    options["theta"] = 0.25
    model.set_params(norm="none", hidden_dims=(3,), dtype="float32")
    for again in (model, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(again.predict_proba(x), before)
    assert model.fit(x, y).predict_proba(x).shape == before.shape
    transformer = RiemannianBatchNormTransformer("spd").fit(x)
    before = transformer.transform(x)
    np.testing.assert_array_equal(transformer.set_params(norm="gbw").transform(x), before)


def test_an_interruption_ends_the_fit(matrices: Data) -> None:
    class Interrupted(nn.Identity):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quick(norm=lambda n: Interrupted()).fit(*matrices)


def test_early_stopping_keeps_the_best_network(matrices: Data) -> None:
    x, y = matrices
    model = quick(early_stopping=True, patience=3, max_epochs=200, lr=0.1, validation_fraction=0.25).fit(x, y)
    losses = [row["valid_loss"] for row in model.history_]
    assert model.n_iter_ < 200
    assert np.argmin(losses) == model.n_iter_ - 1 - 3
    assert model.score(x, y) > 0.9


def test_a_progress_bar_on_request(matrices: Data, capsys: pytest.CaptureFixture[str]) -> None:
    x, y = matrices
    quick(max_epochs=1).fit(x, y)
    assert capsys.readouterr() == ("", "")
    quick(max_epochs=1, progress_bar=True).fit(x, y)
    shown = "".join(capsys.readouterr())
    assert "100%" in shown
    assert "train_loss" in shown
    quick(max_epochs=2, verbose=1).fit(x, y)
    assert "train_loss" in capsys.readouterr().out


def test_pipelines_grids_and_parallel_folds(matrices: Data) -> None:
    x, y = matrices
    pipeline = make_pipeline(RiemannianBatchNormTransformer("lie", norm_options={"metric": "lem"}), quick(max_epochs=5))
    grid = GridSearchCV(pipeline, {"spdnetclassifier__norm": ["none", "gbw"]}, cv=2, n_jobs=2)
    grid.fit(x, y)
    assert grid.best_score_ > 0.8
    assert set(grid.cv_results_["param_spdnetclassifier__norm"]) == {"none", "gbw"}
    serial = cross_val_score(quick(max_epochs=2), x, y, cv=2)
    parallel = cross_val_score(quick(max_epochs=2), x, y, cv=2, n_jobs=2)
    np.testing.assert_allclose(serial, parallel)
    model = grid.best_estimator_
    shares = Parallel(n_jobs=2)(delayed(model.predict)(part) for part in np.array_split(x, 2))
    assert (np.concatenate(shares) == model.predict(x)).all()


def test_errors_say_what_to_do(matrices: Data, signals: Data) -> None:
    x, y = matrices
    with pytest.raises(ValueError, match="EEGSPDNetClassifier"):
        quick().fit(signals[0], signals[1])
    with pytest.raises(ValueError, match="as in fit"):
        quick(max_epochs=1).fit(x, y).predict(np.stack([x] * 6, axis=1))
    with pytest.raises(ValueError, match="6 features, but"):
        quick(max_epochs=1).fit(x[:, :5, :5], y).predict(x)
    with pytest.raises(ValueError, match="float32, float64"):
        quick(dtype="float16").fit(x, y)
    for option, value in {"batch_size": 1, "max_epochs": -1, "validation_fraction": 1.0, "patience": 0}.items():
        with pytest.raises(ValueError, match=f"`{option}` must be"):
            quick(**{option: value}).fit(x, y)
    with pytest.raises(ValueError, match="`X` is not symmetric"):
        quick().fit(np.triu(x), y)
    for estimator in (quick(), RiemannianBatchNormTransformer()):
        with pytest.raises(ValueError, match="120 of 120 have a negative eigenvalue"):
            estimator.fit(x - x.max() * np.eye(6), y)
    with pytest.raises(ValueError, match="unknown optimizer"):
        quick(optimizer="lbfgs").fit(x, y)
    with pytest.raises(ValueError, match="4 channels as in fit"):
        EEGSPDNetClassifier(max_epochs=1).fit(*signals).predict(signals[0][:, :, 0])
    with pytest.raises(ValueError, match="2 or more times"):
        EEGSPDNetClassifier().fit(signals[0][:, :, :1], signals[1])
    with pytest.raises(ValueError, match="signals \\(N, channels, times\\)"):
        EEGSPDNetClassifier().fit(np.zeros((4, 1, 2, 3)), [0, 1, 0, 1])
