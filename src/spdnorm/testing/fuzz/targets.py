"""What is run on a case. A target returns what is wrong, and raises ValueError where it refuses the input."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from spdnorm import geometry, linalg
from spdnorm.models import SPDNet
from spdnorm.nn import (
    BiMap,
    BWBatchNorm,
    GBWBatchNorm,
    LieBatchNorm,
    LogEig,
    ManifoldNorm,
    ReEig,
    RiemannianBatchNorm,
    RiemannianResidual,
    SPDBatchNorm,
    SPDMomentumBatchNorm,
)
from spdnorm.nn.constraints import assign
from spdnorm.testing.fuzz.bounds import error_bound
from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import finite, near, spd, symmetric

Target = Callable[[Case], Iterator[str]]

NORMS: dict[str, Callable[..., RiemannianBatchNorm]] = {
    "gbw": GBWBatchNorm,
    "bw": BWBatchNorm,
    "spd": SPDBatchNorm,
    "spdm": lambda n, **o: SPDMomentumBatchNorm(n, min_momentum=1.0, **o),
    "manifold-aim": lambda n, **o: ManifoldNorm(n, algorithm=2, **o),
    "manifold-lem": lambda n, **o: ManifoldNorm(n, metric="lem", algorithm=2, **o),
    "lie-aim": LieBatchNorm,
    "lie-lem": lambda n, **o: LieBatchNorm(n, metric="lem", **o),
    "lie-lcm": lambda n, **o: LieBatchNorm(n, metric="lcm", **o),
}


def _spd_parameter(rng: random.Random, n: int, condition: float, like: Tensor) -> Tensor:
    case = Case(
        seed=rng.randrange(2**31), n=n, batch=1, dtype=torch.float64, kind="generic", condition=condition, scale=1.0
    )
    return matrices(case)[0].to(like)


def norm_layer(name: str, case: Case) -> tuple[RiemannianBatchNorm, float]:
    """A layer with drawn parameters, nearly singular ones at times, and the condition number of those."""
    rng = case.rng
    options: dict[str, Any] = {"momentum": 1.0, "dtype": case.dtype}
    if name in ("gbw", "bw"):
        options["theta"] = rng.choice((0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.5))
    layer = NORMS[name](case.n, **options)
    condition = 1.0 if rng.random() < 0.4 else 10 ** rng.uniform(0, 4 if case.dtype == torch.float32 else 10)
    for parameter in layer._spd_parameters():
        assign(layer, parameter, _spd_parameter(rng, case.n, condition, getattr(layer, parameter)))
    if layer.scale is not None and rng.random() < 0.5:
        with torch.no_grad():
            layer.scale.fill_(10 ** rng.uniform(-3, 1))
    return layer, condition


def _grads(out: Tensor, x: Tensor, module: nn.Module | None) -> Iterator[str]:
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(0), dtype=out.dtype)
    size = out.detach().abs().amax()
    loss = (out * weight).sum() / torch.where(size > 0, size, 1.0)
    loss.backward()
    if x.grad is not None:
        yield from finite("gradient of x", x.grad)
    for name, value in module.named_parameters() if module is not None else ():
        if value.grad is not None:
            yield from finite(f"gradient of {name}", value.grad)


def norm(name: str) -> Target:
    """A normalisation in training and evaluation: SPD, finite gradients, the two agree, float32 near float64."""

    def run(case: Case) -> Iterator[str]:
        layer, parameters = norm_layer(name, case)
        x = matrices(case).requires_grad_()
        start = {key: value.clone() for key, value in layer.state_dict().items()}
        out = layer(x)
        if name == "spd" and not case.definite:
            # Whitened by a barycentre that is singular up to rounding, and no eigenvalue is looked at afterwards.
            yield from finite("output", out.detach())
        else:
            yield from spd("output", out.detach())
        yield from _grads(out, x, layer)
        for key, value in layer.named_buffers():
            yield from finite(key, value)
        layer.eval()
        with torch.no_grad():
            bound = error_bound(case, parameters=parameters, theta=float(getattr(layer, "theta", 1.0)))
            yield from near("evaluation against training", layer(x), out.detach(), bound)
            if case.dtype == torch.float32 and bound < 1:
                layer.load_state_dict(start)
                exact = layer.double().train()(x.double())
                yield from near("float32 against float64", out.detach(), exact, bound)

    return run


METRIC_CONDITION = 1e4

METRICS: dict[str, Callable[[random.Random, Case], geometry.Metric]] = {
    "aim": lambda rng, case: geometry.AffineInvariant(),
    "lem": lambda rng, case: geometry.LogEuclidean(),
    "lcm": lambda rng, case: geometry.LogCholesky(),
    "bwm": lambda rng, case: geometry.BuresWasserstein(),
    "gbwm": lambda rng, case: geometry.GeneralizedBuresWasserstein(
        _spd_parameter(rng, case.n, METRIC_CONDITION, torch.empty(0, dtype=case.dtype))
    ),
    "aim-power": lambda rng, case: geometry.PowerDeformed(geometry.AffineInvariant(), 0.5),
    "bwm-power": lambda rng, case: geometry.PowerDeformed(geometry.BuresWasserstein(), 0.5),
}


def metric(name: str) -> Target:
    """A geometry's operators on pairs of points."""

    def run(case: Case) -> Iterator[str]:
        space = METRICS[name](case.rng, case)
        x, y = matrices(case).requires_grad_(), matrices(case, stream=1)
        distance = space.squared_distance(x, y)
        yield from finite("squared distance", distance.detach())
        if bool((distance.detach() < 0).any()):
            yield f"squared distance {distance.min().item():.1e} is negative"
        middle = space.geodesic(x, y, 0.3)
        # A metric parameter's condition number multiplies the rounding of products with its roots.
        slack = METRIC_CONDITION if name == "gbwm" else 1.0
        yield from spd("geodesic", middle.detach(), slack)
        yield from _grads(middle, x, None)
        with torch.no_grad():
            log = space.log(x, y)
            yield from finite("log", log)
            # A difference of terms as large as the points.
            yield from symmetric("log", log, size=x.abs().amax((-2, -1)))
            yield from spd("exp of 0", space.exp(x, torch.zeros_like(x)), slack)
            yield from spd("mean", space.mean(x, iterations=1), slack)

    return run


FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "sqrtm": linalg.sqrtm,
    "inv_sqrtm": linalg.inv_sqrtm,
    "logm": linalg.logm,
    "powm": lambda x: linalg.powm(x, 0.7),
    "clampm": lambda x: linalg.clampm(x, 1e-4),
    "absm": linalg.absm,
}


def function(name: str) -> Target:
    """A spectral function and its derivative."""

    def run(case: Case) -> Iterator[str]:
        x = matrices(case).requires_grad_()
        out = FUNCTIONS[name](x)
        yield from finite("value", out.detach())
        yield from symmetric("value", out.detach())
        yield from _grads(out, x, None)

    return run


def _smaller(n: int) -> int:
    return max(1, n // 2)


MODULES: dict[str, Callable[[int, torch.dtype], nn.Module]] = {
    "bimap": lambda n, dtype: BiMap(n, _smaller(n), dtype=dtype),
    "reeig": lambda n, dtype: ReEig(),
    "logeig": lambda n, dtype: LogEig(threshold=1e-4),
    "residual-aim": lambda n, dtype: RiemannianResidual(n, dtype=dtype),
    "residual-lem": lambda n, dtype: RiemannianResidual(n, metric="lem", dtype=dtype),
    "spdnet": lambda n, dtype: SPDNet((n, _smaller(n)), 3, norm="gbw", dtype=dtype),
}


def module(name: str) -> Target:
    """A layer or network."""

    def run(case: Case) -> Iterator[str]:
        if name.startswith("residual") and case.n * case.batch == 1:
            # The Euclidean batch norm between its convolutions needs two numbers; torch says so.
            return
        torch.manual_seed(case.seed)
        layer = MODULES[name](case.n, case.dtype)
        x = matrices(case).requires_grad_()
        out = layer(x)
        yield from finite("output", out.detach())
        if out.dim() == 3:
            # The directions that a bilinear map keeps may be those of the small eigenvalues.
            yield from spd("output", out.detach(), 1e4 if name == "bimap" else 1.0)
        yield from _grads(out, x, layer)

    return run


#: Everything that a case is thrown at, by name.
TARGETS: dict[str, Target] = {
    **{f"norm {name}": norm(name) for name in NORMS},
    **{f"metric {name}": metric(name) for name in METRICS},
    **{f"function {name}": function(name) for name in FUNCTIONS},
    **{f"layer {name}": module(name) for name in MODULES},
}

#: Targets that must take singular matrices, and all others that may be refused one.
TAKES_SINGULAR = frozenset(
    {"norm gbw", "norm bw", "metric bwm", "metric gbwm", "metric bwm-power", "layer reeig", "layer bimap"}
    | {"layer logeig", "layer residual-aim", "layer residual-lem", "layer spdnet"}
    | {"function sqrtm", "function powm", "function clampm", "function absm"}
)
