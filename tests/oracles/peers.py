"""The same operators in pyRiemann, geomstats and SciPy, behind one signature.

Conventions, looked up in their sources: both take the tangent vector first and the base point second; both define
the Bures-Wasserstein inner product as tr(L_X(U) V) / 2, as the paper does, so that no factor stands between; geomstats'
``squared_dist`` of log-Euclidean and log-Cholesky metrics is the squared norm in the chart, as here. pyRiemann has no
Bures-Wasserstein inner product and no transport for it; geomstats has no geodesic of its own for the flat
metrics, its ``exp(t log)`` is taken.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp
from torch import Tensor

os.environ.setdefault("GEOMSTATS_BACKEND", "numpy")

Array = np.ndarray


@dataclass(frozen=True)
class Problem:
    """Float64 arguments of every operator: points, a tangent vector at ``x``, samples; geodesics at time 0.3."""

    x: Tensor
    y: Tensor
    u: Tensor
    v: Tensor
    xs: Tensor


Operator = Callable[[Problem], Any]


def _pyriemann_operators(name: str) -> dict[str, Operator]:
    from pyriemann.geometry import distance, geodesic, mean, tangentspace

    suffix = {"aim": "riemann", "lem": "logeuclid", "lcm": "logchol", "bwm": "wasserstein"}[name]
    log = getattr(tangentspace, f"log_map_{suffix}")
    exp = getattr(tangentspace, f"exp_map_{suffix}")
    options = {"tol": 1e-14, "maxiter": 1000} if name in ("aim", "bwm") else {}
    # Without these, pyRiemann's affine-invariant maps leave the tangent vector whitened, at the identity.
    to_log, to_exp = ({"C12": True}, {"Cm12": True}) if name == "aim" else ({}, {})

    def average(p: Problem) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(mean, f"mean_{suffix}")(p.xs.numpy(), **options)

    operators: dict[str, Operator] = {
        "distance": lambda p: getattr(distance, f"distance_{suffix}")(p.x.numpy(), p.y.numpy()),
        "exp": lambda p: exp(p.u.numpy(), p.x.numpy(), **to_exp),
        "log": lambda p: log(p.y.numpy(), p.x.numpy(), **to_log),
        "geodesic": lambda p: getattr(geodesic, f"geodesic_{suffix}")(p.x.numpy(), p.y.numpy(), alpha=0.3),
        "mean": average,
    }
    if name != "bwm":
        inner = getattr(tangentspace, f"innerproduct_{suffix}")
        transport = getattr(tangentspace, f"transport_{suffix}")
        operators["inner"] = lambda p: inner(p.u.numpy(), p.v.numpy(), p.x.numpy())
        operators["transport"] = lambda p: transport(p.u.numpy(), p.x.numpy(), p.y.numpy())
    return operators


def _geomstats_operators(name: str, n: int) -> dict[str, Operator]:
    from geomstats.geometry.positive_lower_triangular_matrices import PositiveLowerTriangularMatrices
    from geomstats.geometry.pullback_metric import PullbackDiffeoMetric
    from geomstats.geometry.spd_matrices import (
        CholeskyMap,
        SPDAffineMetric,
        SPDBuresWassersteinMetric,
        SPDLogEuclideanMetric,
        SPDMatrices,
    )

    space = SPDMatrices(n, equip=False)
    if name == "lcm":
        metric = PullbackDiffeoMetric(space, CholeskyMap(), PositiveLowerTriangularMatrices(n))
    else:
        kinds = {"aim": SPDAffineMetric, "lem": SPDLogEuclideanMetric, "bwm": SPDBuresWassersteinMetric}
        metric = kinds[name](space)
    options = {"n_steps": 200} if name == "bwm" else {}
    operators: dict[str, Operator] = {
        "inner": lambda p: metric.inner_product(p.u.numpy(), p.v.numpy(), p.x.numpy()),
        "distance": lambda p: metric.squared_dist(p.x.numpy(), p.y.numpy()) ** 0.5,
        "exp": lambda p: metric.exp(p.u.numpy(), p.x.numpy()),
        "log": lambda p: metric.log(p.y.numpy(), p.x.numpy()),
        "geodesic": lambda p: metric.exp(0.3 * metric.log(p.y.numpy(), p.x.numpy()), p.x.numpy()),
        "transport": lambda p: metric.parallel_transport(p.u.numpy(), p.x.numpy(), end_point=p.y.numpy(), **options),
    }
    if name == "lcm":
        del operators["transport"]  # geomstats knows none for the pulled-back metric
    return operators


def bures_wasserstein_transport(x: Array, y: Array, u: Array) -> Array:
    """Integration of the transport equation of Thanwerdas and Pennec (2023) by SciPy's adaptive 8th-order method."""
    root_x, root_y = (np.real(scipy.linalg.sqrtm(m)) for m in (x, y))
    rotation, _ = scipy.linalg.polar(root_x @ root_y)
    a, b = root_x @ rotation, root_y
    n = len(x)

    def slope(t: float, k: Array) -> Array:
        at = a + t * (b - a)
        right = k.reshape(n, n) @ (b - a) @ at.T
        return -scipy.linalg.solve_continuous_lyapunov(at @ at.T, right + right.T).ravel()

    start = scipy.linalg.solve_continuous_lyapunov(x, u).ravel()
    end = solve_ivp(slope, (0, 1), start, method="DOP853", rtol=3e-14, atol=1e-16 * np.abs(start).max()).y[:, -1]
    return end.reshape(n, n) @ y + y @ end.reshape(n, n)


def _scipy_operators(name: str) -> dict[str, Operator]:
    sqrtm, expm, logm = scipy.linalg.sqrtm, scipy.linalg.expm, scipy.linalg.logm

    def real(f: Callable[..., Array], *a: Tensor) -> Array:
        return np.real(f(*(m.numpy() for m in a)))

    if name == "aim":
        return {
            "distance": lambda p: real(
                lambda x, y: np.linalg.norm(np.log(scipy.linalg.eigh(y, x, eigvals_only=True))), p.x, p.y
            ),
            "exp": lambda p: real(lambda x, u: x @ expm(np.linalg.solve(x, u)), p.x, p.u),
            "log": lambda p: real(lambda x, y: x @ logm(np.linalg.solve(x, y)), p.x, p.y),
        }
    if name == "lem":
        return {
            "distance": lambda p: real(lambda x, y: np.linalg.norm(logm(x) - logm(y)), p.x, p.y),
            "geodesic": lambda p: real(lambda x, y: expm(0.7 * logm(x) + 0.3 * logm(y)), p.x, p.y),
            "mean": lambda p: expm(np.mean([logm(m) for m in p.xs.numpy()], axis=0)),
        }
    if name == "bwm":
        return {
            "distance": lambda p: real(
                lambda x, y: np.sqrt(np.trace(x) + np.trace(y) - 2 * np.trace(sqrtm(x @ y))), p.x, p.y
            ),
            "log": lambda p: real(lambda x, y: sqrtm(x @ y) + sqrtm(x @ y).T - 2 * x, p.x, p.y),
        }
    return {}


def operators(peer: str, metric: str, n: int) -> dict[str, Operator]:
    """What a peer offers for a metric (``aim``, ``lem``, ``lcm``, ``bwm``)."""
    if metric not in ("aim", "lem", "lcm", "bwm"):
        return {}
    if peer == "pyriemann":
        return _pyriemann_operators(metric)
    if peer == "geomstats":
        return _geomstats_operators(metric, n)
    return _scipy_operators(metric)
