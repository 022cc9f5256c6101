"""Compiled code against LAPACK, mpmath and torch's own compositions; and doing without it."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys

import mpmath
import pytest
import torch
from tests.helpers import spd_matrices
from torch.autograd import gradcheck, gradgradcheck

from spdnorm.linalg import compiled, eigh, eigh_backend, exponentials, logarithm, native, polar
from spdnorm.linalg.functions import Exp
from spdnorm.linalg.native import build
from spdnorm.testing import tangents

needs_native = pytest.mark.skipif(native.unavailable() is not None, reason=str(native.unavailable()))


@needs_native
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("n", [2, 3, 7, 16, 30, 41, 93, 200])
@pytest.mark.parametrize("kind", ["generic", "ties", "boundary"])
def test_eigenvalues_and_vectors(n, kind, dtype):
    # Neither 1 nor a multiple of the lanes.
    x = spd_matrices(n, 19, kind=kind, condition=1e6).to(dtype)
    values, vectors = native.eigh(x)
    eps, size = torch.finfo(dtype).eps, x.abs().amax()
    assert (values.diff() >= 0).all()
    expected = torch.linalg.eigvalsh(x.double())
    assert (values - expected).abs().max() < 4 * n * eps * expected.amax()
    assert (vectors.mT @ vectors - torch.eye(n, dtype=dtype)).abs().max() < 4 * n * eps
    assert ((vectors * values.unsqueeze(-2)) @ vectors.mT - x).abs().max() < 8 * n * eps * size


@needs_native
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("n", [2, 5, 30, 75])
@pytest.mark.parametrize("condition", [1.0, 10.0, 1e3])
def test_singular_values_and_vectors(n, condition, dtype):
    bases = [torch.linalg.qr(tangents(n, 11, seed=s)).Q for s in (1, 2)]
    w = (bases[0] * torch.logspace(0, -math.log10(condition), n, dtype=torch.float64) @ bases[1]).to(dtype)
    left, sigma, right = native.svd(w)
    eps = torch.finfo(dtype).eps
    assert (sigma.diff() <= 0).all()
    assert (sigma - torch.linalg.svdvals(w.double())).abs().max() < 4 * n * eps
    for basis in (left, right):
        assert (basis.mT @ basis - torch.eye(n, dtype=dtype)).abs().max() < 8 * n * eps
    assert ((left * sigma.unsqueeze(-2)) @ right.mT - w).abs().max() < 4 * n * eps


@needs_native
def test_small_singular_values_keep_their_digits():
    """A well conditioned matrix times a diagonal one determines them all; LAPACK loses the condition number."""
    scales = torch.logspace(0, -12, 6, dtype=torch.float64)
    w = (torch.eye(6, dtype=torch.float64) + 0.2 * tangents(6, 9, seed=3)) * scales
    _, sigma, _ = native.svd(w)
    with mpmath.workdps(60):
        for matrix, found in zip(w, sigma, strict=True):
            exact = mpmath.svd_r(mpmath.matrix(matrix.tolist()), compute_uv=False)
            assert max(abs(1 - v / e) for e, v in zip(exact, found.tolist(), strict=True)) < 1e-13


@needs_native
def test_singular_matrices_are_left_to_lapack():
    w = spd_matrices(4, 9, kind="boundary")
    assert native.svd(w) is None
    o = polar(w)
    torch.testing.assert_close(o.mT @ o, torch.eye(4, dtype=torch.float64).expand(9, 4, 4), rtol=0, atol=1e-12)


@needs_native
def test_against_more_digits():
    x = spd_matrices(8, 9, condition=1e12)
    values, _ = native.eigh(x)
    with mpmath.workdps(60):
        for matrix, found in zip(x, values, strict=True):
            exact, _ = mpmath.eigsy(mpmath.matrix(matrix.tolist()))
            assert max(abs(float(e) - v) for e, v in zip(exact, found.tolist(), strict=True)) < 4e-15 * float(exact[7])


@needs_native
@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_any_magnitude(scale):
    x = scale * spd_matrices(5, 3, condition=10.0) / 4
    values, vectors = native.eigh(x)
    expected = torch.linalg.eigvalsh(x)
    torch.testing.assert_close(values / expected[..., -1:], expected / expected[..., -1:], rtol=0, atol=1e-13)
    assert vectors.isfinite().all()


@needs_native
def test_what_is_exact_stays_exact():
    for x in (
        torch.zeros(3, 4, 4),
        torch.eye(4).expand(3, 4, 4),
        torch.diag(torch.tensor([5.0, -1, 3])).expand(2, 3, 3),
    ):
        values, vectors = native.eigh(x.double())
        assert torch.equal((vectors * values.unsqueeze(-2)) @ vectors.mT, x.double())


@needs_native
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_left_to_lapack(bad):
    x = spd_matrices(4, 20)
    x[7, 1, 2] = x[7, 2, 1] = bad
    assert native.eigh(x) is None
    x[7, 1, 2] = x[7, 2, 1] = float("nan")
    with pytest.raises(ValueError, match="left the range"):
        eigh(x)


@needs_native
def test_threads_share_the_batch():
    x, threads = spd_matrices(30, 200), torch.get_num_threads()
    expected = native.eigh(x)
    try:
        torch.set_num_threads(3)
        found = native.eigh(x)
    finally:
        torch.set_num_threads(threads)
    assert all(map(torch.equal, found, expected))


@needs_native
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("terms", [[(0, 1.0)], [(0, 0.5), (0, -0.5), (1, 1.0)]])
def test_exponentials(n, terms):
    """On both sides of the size above which a few matrices go to LAPACK, whose vectors lie in another order."""
    matrices = [tangents(n, seed=s).requires_grad_() for s in range(1 + max(which for which, _ in terms))]
    found = exponentials(matrices, terms)
    expected = [logarithm(matrices[which]).apply(Exp(rate)) for which, rate in terms]
    cotangents = [tangents(n, seed=7 + i) for i in range(len(terms))]
    gradients = [torch.autograd.grad(out, matrices, cotangents) for out in (found, expected)]
    for ours, theirs in zip([*found, *gradients[0]], [*expected, *gradients[1]], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-11, atol=1e-12 * float(theirs.detach().abs().max()))
    torch.testing.assert_close(found[0], torch.linalg.matrix_exp(terms[0][1] * matrices[0]), rtol=1e-10, atol=1e-10)


@needs_native
@pytest.mark.parametrize("s", [torch.zeros(3, 3), torch.diag(torch.tensor([2.0, 2.0, -1.0]))])
def test_derivatives_of_exponentials(s):
    s = s.double().requires_grad_()

    def call(s):
        return exponentials([s], [(0, 0.5), (0, -0.5)])

    assert gradcheck(call, s)
    assert gradgradcheck(call, s)


@needs_native
def test_exponentials_that_are_not_used_get_no_gradient():
    a, b = tangents(3, seed=1).requires_grad_(), tangents(3, seed=2).requires_grad_()
    _, second = exponentials([a, b], [(0, 1.0), (1, 1.0)])
    gradient = torch.autograd.grad(second.sum(), [a, b], allow_unused=True)
    assert not gradient[0].any()
    assert gradient[1].any()


@needs_native
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_extent(dtype):
    x = torch.randn(5, 7, 7, dtype=dtype)
    assert native.extent(x) == (float(x.abs().max()), float((x - x.mT).abs().max()))
    for bad in (float("nan"), float("inf"), -float("inf")):
        y = x.clone()
        y[3, 2, 1] = bad
        assert native.extent(y)[0] == float("inf")


def test_forcing_another_eigensolver_does_without():
    x = torch.eye(3)
    with eigh_backend("torch"):
        assert not compiled(x)
    with eigh_backend("native"):
        assert compiled(x) == (native.unavailable() is None)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_forced_where_it_cannot_serve():
    with eigh_backend("native"), pytest.raises(RuntimeError, match="cannot serve here"):
        eigh(torch.eye(3, device="cuda"))


@needs_native
def test_forced_on_nothing_and_on_one():
    with eigh_backend("native"):
        assert eigh(torch.empty(0, 3, 3))[0].shape == (0, 3)
        assert eigh(torch.full((2, 1, 1), 5.0))[0].tolist() == [[5.0], [5.0]]


_TRAINS = """
import torch
from spdnorm.geometry import random_spd
from spdnorm.linalg import native
from spdnorm.nn import GBWBatchNorm

layer = GBWBatchNorm(4, dtype=torch.float64)
layer(random_spd(4, 10)).square().sum().backward()
print(native.unavailable())
"""


def _fresh(cache, **environment):
    """A process with an empty cache: what it prints, which is why there is no compiled code."""
    run = subprocess.run(
        [sys.executable, "-c", _TRAINS],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({"SPDNORM_NATIVE": "0"}, "SPDNORM_NATIVE=0"),
        ({"CXX": "", "PATH": ""}, "no C++ compiler"),
        ({"CXX": "false"}, "could not compile"),
    ],
)
def test_layers_work_without_it(environment, reason, tmp_path):
    assert reason in _fresh(tmp_path, **environment)


@needs_native
def test_compiled_once_and_kept(tmp_path):
    assert _fresh(tmp_path) == "None"
    (kept,) = tmp_path.rglob("matrices-*.so")
    made = kept.stat().st_mtime_ns
    assert _fresh(tmp_path) == "None"
    assert kept.stat().st_mtime_ns == made
    # Nothing half-made is left.
    assert {p.suffix for p in tmp_path.rglob("*") if p.is_file()} == {".so"}


def test_a_folder_that_cannot_be_written_is_said(tmp_path, monkeypatch, caplog):
    (tmp_path / "spdnorm").write_text("a file where a folder is due")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with caplog.at_level(logging.INFO, logger="spdnorm"):
        found = build.library.__wrapped__(build.HERE / "matrices.cpp")
    assert isinstance(found, build.BuildError)
    assert "torch does its work" in caplog.text
