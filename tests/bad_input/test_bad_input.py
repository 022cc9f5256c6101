"""Bad input is an error that names the argument, unusual input gives the right result: everything against one list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.bad_input.callables import EVERYTHING, PARAMETRISED, SAMPLES, N
from tests.bad_input.damage import UNUSUAL, WRONG, WRONG_FOR_PARAMETERS, WRONG_FOR_SPD

from spdnorm import functional, geometry, linalg, nn
from spdnorm.estimators import EEGSPDNetClassifier, RiemannianBatchNormTransformer, SPDNetClassifier
from spdnorm.models import MBEEGSE, EEGFrontEnd, EEGSPDNet, TCNetFusion
from spdnorm.nn import Covariance
from spdnorm.testing import spd_matrices

#: Right on every symmetric matrix: linear, or made definite first, or defined on all of them.
TAKES_SYMMETRIC = {
    *("spd, evaluation", "bimap", "bimap function", "reeig", "rectify_eigenvalues", "logeig"),
    *("residual", "residual lem", "residual eigenvectors"),
    *("expm", "absm", "clampm"),
}


def batch() -> torch.Tensor:
    return spd_matrices(N, SAMPLES, condition=8.0)


def wrong_for(name: str) -> dict[str, Any]:
    changes = dict(WRONG)
    if name not in TAKES_SYMMETRIC:
        changes |= WRONG_FOR_SPD
    if name in PARAMETRISED:
        changes |= WRONG_FOR_PARAMETERS
    return changes


@pytest.mark.parametrize("name", EVERYTHING)
def test_bad_input_is_an_error_that_names_the_argument(name):
    for kind, change in wrong_for(name).items():
        call = EVERYTHING[name]()
        with pytest.raises((ValueError, TypeError)) as caught:
            call(change(batch()))
        # In backticks, as everywhere: `x`, or `xs`, or what it was compared with.
        assert "`" in str(caught.value), f"{kind}: {caught.value}"


@pytest.mark.parametrize("name", EVERYTHING)
def test_unusual_input_gives_what_a_plain_copy_gives(name):
    for kind, change in UNUSUAL.items():
        x = change(batch())
        before, expected = x.detach().clone(), EVERYTHING[name]()(x.detach().clone())
        with torch.inference_mode(kind == "in inference mode"):
            found = EVERYTHING[name]()(x)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11, msg=lambda m, kind=kind: f"{kind}: {m}")
        assert torch.equal(x.detach(), before), f"{kind}: the input was changed"
        if x.requires_grad:
            assert found.requires_grad, kind


@pytest.mark.parametrize("name", EVERYTHING)
def test_an_empty_batch_is_empty_or_refused(name):
    empty = batch()[:0]
    if name.endswith((" mean", " variance")):
        with pytest.raises(ValueError, match="with N > 0"):
            EVERYTHING[name]()(empty)
    else:
        assert EVERYTHING[name]()(empty).shape[0] == 0


def test_a_refused_batch_leaves_no_trace():
    layer = nn.GBWBatchNorm(N, dtype=torch.float64)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    for kind, change in wrong_for("gbw, training").items():
        with pytest.raises((ValueError, TypeError)):
            layer(change(batch()))
        assert all(torch.equal(before[key], value) for key, value in layer.state_dict().items()), kind


def test_checks_that_look_at_the_data_can_be_switched_off():
    x = WRONG["asymmetric"](batch())
    with linalg.checks(False):
        assert torch.isfinite(linalg.logm(x)).all()
        assert nn.LieBatchNorm(N, dtype=torch.float64)(x).shape == x.shape
    with pytest.raises(ValueError, match="not symmetric"):
        linalg.logm(x)


def test_the_list_has_every_function_layer_and_metric():
    """A new public name without an entry is noticed here."""
    layers = {name for name in nn.norm_names() if name != "none"}
    for name in layers:
        assert f"{name}, training" in EVERYTHING
    others = {"Options", "Statistics", "covariance", "eigenvalues", "with_eigenvalues"}
    others |= {"residual_step", "riemannian_batch_norm", "bimap"}
    assert "bimap function" in EVERYTHING
    assert set(functional.__all__) - others <= set(EVERYTHING)
    # Those of the tests, which the suites of laws register, are not the library's.
    metrics = {name for name in geometry.names() if not name.startswith("test_")}
    assert {f"{name} log" for name in metrics} <= set(EVERYTHING)


SIGNAL_DAMAGE = {
    "nan": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 3, np.nan, x),
    "inf": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 3, np.inf, x),
    "complex": lambda x: x.astype(np.complex128),
    "a vector": lambda x: x[0, 0],
    "text": lambda x: np.full(x.shape, "a"),
    "none": lambda x: None,
    "empty": lambda x: x[:0],
}
MATRIX_DAMAGE = {
    **SIGNAL_DAMAGE,
    "not square": lambda x: x[..., :-1],
    "asymmetric": lambda x: x + 0.1 * np.triu(np.ones((N, N)), 1),
    "indefinite": lambda x: x - 3 * np.eye(N),
}
Y = np.arange(SAMPLES) % 2
ESTIMATORS = {
    "spdnet": (lambda: SPDNetClassifier(max_epochs=1), MATRIX_DAMAGE, batch().numpy()),
    "norm": (lambda: RiemannianBatchNormTransformer(), MATRIX_DAMAGE, batch().numpy()),
    "eegspdnet": (
        lambda: EEGSPDNetClassifier(max_epochs=1),
        SIGNAL_DAMAGE,
        np.random.default_rng(0).normal(size=(SAMPLES, 3, 64)),
    ),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_refuse_bad_input_in_fit_and_afterwards(name):
    make, damage, x = ESTIMATORS[name]
    fitted = make().fit(x, Y)
    use = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    assert len(use(x)) == SAMPLES
    for kind, change in damage.items():
        for call in (lambda bad: make().fit(bad, Y[: len(bad) if bad is not None else None]), use):
            with pytest.raises((ValueError, TypeError)) as caught:
                call(change(x))
            text = str(caught.value)
            assert any(word in text for word in ("X", "array", "data", "sample", "string")), f"{kind}: {text}"
    with pytest.raises(ValueError, match=r"X has|`X`"):
        use(np.concatenate([x, x], 1)[..., :3] if name == "eegspdnet" else spd_matrices(N + 1, 2).numpy())


SIGNALS = {
    "covariance": lambda: Covariance(),
    "front end": lambda: EEGFrontEnd(3),
    "eegspdnet": lambda: EEGSPDNet(3, 2, 64),
    "tcnet-fusion": lambda: TCNetFusion(3, 2, 64),
    "mbeeg-se": lambda: MBEEGSE(3, 2, 64),
}


@pytest.mark.parametrize("name", SIGNALS)
def test_signals(name):
    torch.manual_seed(0)
    layer, x = SIGNALS[name](), torch.randn(4, 3, 64)
    assert layer(x).shape[0] == 4
    assert layer(x[:0]).shape[0] == 0
    assert all(torch.isfinite(value).all() for value in layer.state_dict().values()), "nothing has left a trace"
    bad = {
        "nan": torch.where(torch.arange(64) == 3, float("nan"), x),
        "inf": torch.where(torch.arange(64) == 3, float("inf"), x),
        "a vector": x[0, 0],
        "integers": x.long(),
        "complex": x.to(torch.complex64),
        "numpy": x.numpy(),
        "nested list": x.tolist(),
        "none": None,
    }
    if name != "covariance":
        bad |= {"channels": x[:, :2], "another dtype": x.double(), "another device": x.to("meta")}
    for kind, value in bad.items():
        with pytest.raises((ValueError, TypeError)) as caught:
            layer(value)
        assert "`" in str(caught.value), f"{kind}: {caught.value}"
    layer.eval()
    unusual = {
        "every other": x.repeat_interleave(2, -1)[..., ::2],
        "expanded": x[:1].expand_as(x),
        "flipped": x.flip(-1),
    }
    unusual["times first in memory"] = x.mT.contiguous().mT
    for kind, value in unusual.items():
        torch.testing.assert_close(
            layer(value), layer(value.clone().contiguous()), msg=lambda m, kind=kind: f"{kind}: {m}"
        )
