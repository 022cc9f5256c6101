"""Everything that takes a batch of SPD matrices as its argument ``x``, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from spdnorm import functional, geometry, linalg
from spdnorm.models import RResNet, SPDNet
from spdnorm.nn import (
    BiMap,
    DomainBatchNorm,
    GBWBatchNorm,
    LieBatchNorm,
    LogEig,
    ManifoldNorm,
    ReEig,
    RiemannianResidual,
    norm_layer,
    norm_names,
)
from spdnorm.testing import spd_matrices, tangents

N, SAMPLES = 4, 6
OPTIONS: dict[str, Any] = {"dtype": torch.float64}
POINT = spd_matrices(N, seed=9)
WEIGHT = torch.eye(N, dtype=torch.float64)[:3]


class Domains(DomainBatchNorm):
    """Two domains, one sample each in turn."""

    def __init__(self, count: int) -> None:
        super().__init__(GBWBatchNorm(N, **OPTIONS), count)

    def forward(self, x: Any) -> Any:
        return super().forward(x, torch.arange(len(x) if hasattr(x, "__len__") else 1) % self.num_domains)


def layer(make: Callable[[], torch.nn.Module], *arguments: Any, train: bool = True) -> Callable[[], Callable[..., Any]]:
    """Made anew for each call, with the same weights."""

    def build() -> Callable[..., Any]:
        torch.manual_seed(0)
        module = make().train(train)
        return lambda x: module(x, *arguments)

    return build


def _norms() -> dict[str, Callable[[], Callable[..., Any]]]:
    found = {}
    for name in norm_names():
        if name != "none":
            for train in (True, False):
                make = lambda name=name: norm_layer(name, N, **OPTIONS)  # noqa: E731
                found[f"{name}, {'training' if train else 'evaluation'}"] = layer(make, train=train)
    return found


METRICS = {
    "aim": geometry.AffineInvariant(),
    "lem": geometry.LogEuclidean(),
    "lcm": geometry.LogCholesky(),
    "bwm": geometry.BuresWasserstein(),
    "gbwm": geometry.GeneralizedBuresWasserstein(POINT),
    "bwm, theta 1/2": geometry.PowerDeformed(geometry.BuresWasserstein(), 0.5),
}


def _operators() -> dict[str, Callable[[], Callable[..., Any]]]:
    u, found = tangents(N, seed=3), {}
    for name, metric in METRICS.items():
        calls: dict[str, Callable[..., Any]] = {
            "inner": lambda x, m=metric: m.inner(x, u, u),
            "norm": lambda x, m=metric: m.norm(x, u),
            "exp": lambda x, m=metric: m.exp(x, 0.01 * u),
            "log": lambda x, m=metric: m.log(x, POINT),
            "log to": lambda x, m=metric: m.log(POINT, x),
            "geodesic": lambda x, m=metric: m.geodesic(x, POINT, 0.3),
            "transport": lambda x, m=metric: m.transport(x, POINT, u),
            "distance": lambda x, m=metric: m.distance(x, POINT),
        }
        found |= {f"{name} {operator}": lambda call=call: call for operator, call in calls.items()}
    return found


def _means() -> dict[str, Callable[[], Callable[..., Any]]]:
    found: dict[str, Callable[[], Callable[..., Any]]] = {}
    for name, metric in METRICS.items():
        found[f"{name} mean"] = lambda m=metric: lambda x: m.mean(x, iterations=2)
        found[f"{name} variance"] = lambda m=metric: lambda x: m.variance(x)
    return found


#: With a size, or parameters, of their own.
PARAMETRISED = {
    **_norms(),
    "lie lem": layer(lambda: LieBatchNorm(N, metric="lem", **OPTIONS)),
    "lie lcm": layer(lambda: LieBatchNorm(N, metric="lcm", **OPTIONS)),
    "lie lcm, in use": layer(lambda: LieBatchNorm(N, metric="lcm", **OPTIONS), train=False),
    "lie eigen": layer(lambda: LieBatchNorm(N, translation="eigen", **OPTIONS)),
    "manifold lem": layer(lambda: ManifoldNorm(N, metric="lem", algorithm=2, **OPTIONS)),
    "gbw learnable theta": layer(lambda: GBWBatchNorm(N, learn_theta=True, **OPTIONS)),
    "gbw manifold": layer(lambda: GBWBatchNorm(N, parametrized=False, **OPTIONS)),
    "residual lem": layer(lambda: RiemannianResidual(N, metric="lem", **OPTIONS)),
    "residual eigenvectors": layer(lambda: RiemannianResidual(N, frame="eigenvectors", **OPTIONS)),
    "bimap function": lambda: lambda x: functional.bimap(x, WEIGHT),
    "gbw reference": layer(lambda: GBWBatchNorm(N, variant="reference", **OPTIONS)),
    "domains": layer(lambda: Domains(2)),
    "spdnet": layer(lambda: SPDNet((N, 3), 2, norm="gbw", **OPTIONS)),
    "rresnet": layer(lambda: RResNet((N, 3), 2, norm="gbw", **OPTIONS)),
    "residual": layer(lambda: RiemannianResidual(N, **OPTIONS)),
    "bimap": layer(lambda: BiMap(N, 3, **OPTIONS)),
    "gbw_batch_norm with buffers": lambda: (
        lambda x: functional.gbw_batch_norm(
            x, POINT.clone(), torch.ones(()).double(), metric=POINT, bias=POINT, training=True
        )
    ),
    **_operators(),
}
#: Functions of a matrix alone.
PLAIN: dict[str, Callable[[], Callable[..., Any]]] = {
    **_means(),
    "reeig": layer(ReEig),
    "logeig": layer(lambda: LogEig(threshold=1e-4)),
    "gbw_batch_norm": lambda: lambda x: functional.gbw_batch_norm(x, training=True),
    "spd_batch_norm": lambda: lambda x: functional.spd_batch_norm(x, training=True),
    "spd_momentum_batch_norm": lambda: lambda x: functional.spd_momentum_batch_norm(x, training=True),
    "lie_batch_norm": lambda: lambda x: functional.lie_batch_norm(x, training=True),
    "manifold_norm": lambda: lambda x: functional.manifold_norm(x, training=True),
    "reference_gbw_batch_norm": lambda: lambda x: functional.reference_gbw_batch_norm(x, training=True),
    "log_eigenvalues": lambda: functional.log_eigenvalues,
    "rectify_eigenvalues": lambda: functional.rectify_eigenvalues,
    "sqrtm": lambda: linalg.sqrtm,
    "inv_sqrtm": lambda: linalg.inv_sqrtm,
    "invm": lambda: linalg.invm,
    "logm": lambda: linalg.logm,
    "powm": lambda: lambda x: linalg.powm(x, 0.5),
    "expm": lambda: linalg.expm,
    "absm": lambda: linalg.absm,
    "clampm": lambda: lambda x: linalg.clampm(x, 1e-3),
    "cholesky": lambda: linalg.cholesky,
}
EVERYTHING = {**PARAMETRISED, **PLAIN}
