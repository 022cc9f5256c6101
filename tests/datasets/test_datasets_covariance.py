"""From signals to matrices: against scikit-learn and numpy, one signal at a time."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.covariance import empirical_covariance, ledoit_wolf, oas

from spdnorm.datasets import covariance, spectrum_report
from spdnorm.datasets.triangles import from_upper_triangle, to_upper_triangle

RNG = np.random.default_rng(0)


@pytest.fixture
def x() -> np.ndarray:
    rng = np.random.default_rng(1)
    mixing = rng.normal(size=(7, 6, 6))
    return mixing @ rng.normal(size=(7, 6, 50)) + rng.normal(size=(7, 6, 1))


def test_sample_covariance(x):
    expected = np.stack([np.cov(signal) for signal in x])
    np.testing.assert_allclose(covariance(x), expected, rtol=1e-12)
    np.testing.assert_allclose(covariance(x, ddof=0), expected * 49 / 50, rtol=1e-12)
    np.testing.assert_allclose(covariance(x, center=False, ddof=0), x @ x.swapaxes(1, 2) / 50, rtol=1e-12)


@pytest.mark.parametrize(("name", "reference"), [("ledoit-wolf", ledoit_wolf), ("oas", oas)])
@pytest.mark.parametrize("times", [4, 50, 5000])
def test_automatic_shrinkage(name, reference, times):
    rng = np.random.default_rng(times)
    x = rng.normal(size=(5, 6, 6)) @ rng.normal(size=(5, 6, times))
    expected = np.stack([reference(signal.T)[0] for signal in x])
    np.testing.assert_allclose(covariance(x, shrinkage=name), expected, rtol=1e-9, atol=1e-9)


def test_fixed_shrinkage_keeps_the_trace(x):
    s = covariance(x)
    shrunk = covariance(x, shrinkage=0.3)
    mu = np.trace(s, axis1=1, axis2=2) / 6
    np.testing.assert_allclose(shrunk, 0.7 * s + 0.3 * mu[:, None, None] * np.eye(6), rtol=1e-12)
    np.testing.assert_allclose(np.trace(shrunk, axis1=1, axis2=2), 6 * mu, rtol=1e-12)


def test_trace_then_lambda_as_in_the_released_script(x):
    result = covariance(x, normalize="trace", regularization=1e-3)
    np.testing.assert_allclose(np.trace(result, axis1=1, axis2=2), 1 + 6e-3, rtol=1e-12)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(covariance(x, regularization=2.0)), np.linalg.eigvalsh(covariance(x)) + 2
    )


def test_lengths_equal_cutting_each_signal(x):
    lengths = np.array([50, 3, 10, 20, 2, 49, 30])
    padded = x.copy()
    for signal, length in zip(padded, lengths, strict=True):
        signal[:, length:] = 1e6  # whatever lies beyond must not matter
    for options in ({}, {"shrinkage": "ledoit-wolf"}, {"shrinkage": "oas"}, {"center": False}, {"normalize": "trace"}):
        expected = np.stack([covariance(s[None, :, :n], **options)[0] for s, n in zip(x, lengths, strict=True)])
        np.testing.assert_allclose(covariance(padded, lengths=lengths, **options), expected, rtol=1e-9, atol=1e-12)


def test_chunks_change_nothing(x):
    for chunk_size in (1, 2, 7, None):
        np.testing.assert_array_equal(covariance(x, chunk_size=chunk_size), covariance(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_precision_and_kind_are_the_callers(x, dtype):
    assert covariance(x, dtype=dtype).dtype == dtype
    assert covariance(x.astype(dtype)).dtype == dtype
    tensor = torch.from_numpy(x)
    result = covariance(tensor, dtype=getattr(torch, dtype))
    assert isinstance(result, torch.Tensor)
    assert result.dtype is getattr(torch, dtype)
    np.testing.assert_allclose(result, covariance(x), rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-4)
    # Integers and big-endian files become floats.
    assert covariance((100 * x).astype(np.int16)).dtype == "float32"
    assert covariance(tensor.to(torch.bfloat16)).dtype is torch.float32
    counts = (1e6 * x).astype(np.int32)  # 24-bit converters count beyond what float32 holds
    np.testing.assert_allclose(covariance(counts), covariance(counts.astype("float64")), rtol=1e-12)
    np.testing.assert_array_equal(covariance(x.astype(">f8")), covariance(x))


def test_exactly_symmetric_and_gradients_flow(x):
    result = covariance(x.astype("float32"), shrinkage="oas")
    np.testing.assert_array_equal(result, result.swapaxes(1, 2))
    tensor = torch.from_numpy(x[:2]).requires_grad_()
    assert torch.autograd.gradcheck(lambda t: covariance(t, shrinkage="ledoit-wolf"), tensor)


def test_autocast_does_not_lower_the_precision(x):
    tensor = torch.from_numpy(x.astype("float32"))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = covariance(tensor)
    assert result.dtype is torch.float32
    torch.testing.assert_close(result, covariance(tensor), rtol=0, atol=0)
    lengths = torch.full((7,), 40)
    torch.testing.assert_close(covariance(tensor, lengths=lengths), covariance(tensor[..., :40]))


def test_a_memory_map_is_read_in_chunks(x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(covariance(mapped, chunk_size=2), covariance(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shrinkage": "lw"}, "shrinkage='lw'"),
        ({"shrinkage": 1.5}, r"shrinkage=1.5 is outside"),
        ({"normalize": "norm"}, "normalize='norm'"),
        ({"regularization": -1.0}, "regularization=-1.0"),
        ({"regularization": np.nan}, "regularization=nan"),
        ({"chunk_size": 0}, "chunk_size=0"),
        ({"lengths": [1] * 7}, "needs 2 to 50 time samples"),
        ({"lengths": [51] * 7}, "needs 2 to 50 time samples"),
        ({"lengths": [10]}, r"lengths has shape \(1,\), expected \(7,\)"),
    ],
)
def test_wrong_options_are_named(x, options, message):
    with pytest.raises(ValueError, match=message):
        covariance(x, **options)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_signals_that_are_not_finite_are_named(x, value):
    x[5, 2, 7] = value
    for signals in (x, torch.from_numpy(x)):
        with pytest.raises(ValueError, match=r"1 of 7 covariances are not finite, the first that of sample 5"):
            covariance(signals, chunk_size=2)
    lengths = np.full(7, 7)
    assert np.isfinite(covariance(x, lengths=lengths)).all()  # beyond a signal's end nothing matters


def test_wrong_shape_and_a_constant_signal(x):
    with pytest.raises(ValueError, match="give real signals"):
        covariance(x + 0j)
    with pytest.raises(ValueError, match=r"expected \(samples, channels, times\)"):
        covariance(x[0])
    x[3] = 1.0
    with pytest.raises(ValueError, match="sample 3 of x is constant"):
        covariance(x, normalize="trace")


def test_constant_signals_give_the_zero_matrix_under_every_shrinkage():
    zeros = np.zeros((2, 3, 10))
    for shrinkage in (None, "oas", "ledoit-wolf", 0.5):
        np.testing.assert_array_equal(covariance(zeros, shrinkage=shrinkage), np.zeros((2, 3, 3)))


def test_the_empirical_estimate_is_scikit_learns(x):
    expected = np.stack([empirical_covariance(signal.T) for signal in x])
    np.testing.assert_allclose(covariance(x, ddof=0), expected, rtol=1e-12)


def test_triangles_round_trip():
    a = RNG.normal(size=(4, 5, 5))
    x = a + a.swapaxes(1, 2)
    flat = to_upper_triangle(x)
    assert flat.shape == (4, 15)
    np.testing.assert_array_equal(from_upper_triangle(flat, n=5), x)


def test_report_of_known_spectra():
    values = np.array([[1.0, 10, 100], [0, 1, 50], [0, 0, 7], [1e-6, 1, 1]])
    u = np.linalg.qr(RNG.normal(size=(4, 3, 3)))[0]
    x = (u * values[:, None, :]) @ u.swapaxes(1, 2)
    report = spectrum_report(x, chunk_size=3)
    assert report.rank.tolist() == [3, 2, 1, 3]
    np.testing.assert_allclose(report.condition, [100, np.inf, np.inf, 1e6], rtol=1e-6)
    np.testing.assert_allclose(report.condition_on_range, [100, 50, 1, 1e6], rtol=1e-6)
    assert report.ill_conditioned() == {1e3: 3, 1e4: 3, 1e5: 3}
    assert report.quantiles("rank") == {0.0: 1, 0.25: 1, 0.5: 2, 0.75: 3, 1.0: 3}
    assert spectrum_report(x, rtol=0.2).rank.tolist() == [1, 1, 1, 2]
    assert spectrum_report(torch.from_numpy(x)).rank.tolist() == [3, 2, 1, 3]
    with pytest.raises(ValueError, match=r"expected \(samples, n, n\)"):
        spectrum_report(x[0])
