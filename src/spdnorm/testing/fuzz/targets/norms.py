"""Normalisation layers, with parameters drawn for each case."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from spdnorm.nn import (
    BWBatchNorm,
    DomainBatchNorm,
    GBWBatchNorm,
    LieBatchNorm,
    ManifoldNorm,
    RiemannianBatchNorm,
    SPDBatchNorm,
    SPDMomentumBatchNorm,
)
from spdnorm.nn.constraints import assign
from spdnorm.testing.fuzz.bounds import differentiable, error_bound
from spdnorm.testing.fuzz.cases import Case, matrices
from spdnorm.testing.fuzz.properties import finite, near, spd
from spdnorm.testing.fuzz.targets.common import Target, gradients, spd_parameter

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
    "gbw-learnable-theta": lambda n, **o: GBWBatchNorm(n, learn_theta=True, **o),
    "gbw-reference": lambda n, **o: GBWBatchNorm(n, variant="reference", **o),
    "gbw-channels": lambda n, **o: GBWBatchNorm(n, channels=2, **o),
    "domain": GBWBatchNorm,
    "manifold-aim-first": ManifoldNorm,
    "lie-aim-eigen": lambda n, **o: LieBatchNorm(n, translation="eigen", **o),
}
#: These take a power.
WITH_THETA = ("gbw", "bw", "gbw-learnable-theta", "gbw-reference", "gbw-channels", "domain", "lie-aim", "lie-lcm")
THETAS = (0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.5)
#: No eigenvalue is looked at after whitening by a barycentre that may be singular up to rounding.
UNSEEN = ("spd",)


def norm_layer(name: str, case: Case, *, extreme: bool = False) -> tuple[RiemannianBatchNorm, float]:
    """A layer with drawn parameters, nearly singular ones at times, and the condition number of those."""
    rng = case.rng
    options: dict[str, Any] = {"momentum": 1.0, "dtype": case.dtype}
    if name in ("gbw", "bw"):
        options["theta"] = rng.choice(THETAS)
    elif name in WITH_THETA:
        # LieBN takes logarithms of X^theta, which a power above 1 makes singular long before X is.
        options["theta"] = min(random.Random(f"theta {case.seed}").choice(THETAS), 1.0 if "lie" in name else 2.0)
    largest = 4.0 if case.dtype == torch.float32 else 10.0
    if extreme:
        if name in WITH_THETA:
            options["theta"] = rng.choice((-1, 1, 1, 1)) * 10 ** rng.uniform(-1.5, 0.7)
        largest = 15.0
    layer = NORMS[name](case.n, **options)
    condition = 1.0 if rng.random() < 0.4 else 10 ** rng.uniform(0, largest)
    for parameter in layer._spd_parameters():
        value = getattr(layer, parameter)
        drawn = spd_parameter(rng, case.n, condition, value)
        if extreme:
            # Definite in the layer's own precision, as a parameter must be.
            drawn = drawn + 4 * case.n * torch.finfo(case.dtype).eps * torch.eye(case.n, dtype=case.dtype)
        assign(layer, parameter, drawn.expand_as(value))
    if layer.scale is not None and rng.random() < (1.0 if extreme else 0.5):
        low, high = (-8, 4) if extreme else (-3, 1)
        with torch.no_grad():
            layer.scale.fill_(10 ** rng.uniform(low, high))
    return layer, condition


def _call(name: str, layer: RiemannianBatchNorm, case: Case) -> tuple[nn.Module, tuple[Tensor, ...], Tensor]:
    """The module to call, its arguments, and the leaf among them."""
    x = matrices(case).requires_grad_()
    if name == "gbw-channels":
        return layer, (torch.stack([x, x.flip(0)], 1),), x
    if name == "domain":
        return DomainBatchNorm(layer, 2), (x, torch.arange(case.batch) % 2), x
    return layer, (x,), x


def _proper(name: str, case: Case, what: str, out: Tensor, *, extreme: bool) -> Iterator[str]:
    if name in UNSEEN and not case.definite:
        yield from finite(what, out)
    else:
        # A product with a nearly singular bias may be smaller than its own rounding suggests.
        yield from spd(what, out, 1e4 if extreme else 1.0)


def norm(name: str, *, extreme: bool = False) -> Target:
    """A normalisation in training and evaluation: SPD, finite gradients, the two agree, float32 near float64."""

    def run(case: Case) -> Iterator[str]:
        layer, parameters = norm_layer(name, case, extreme=extreme)
        whole, arguments, x = _call(name, layer, case)
        start = {key: value.clone() for key, value in whole.state_dict().items()}
        out = whole(*arguments)
        yield from _proper(name, case, "output", out.detach(), extreme=extreme)
        theta = float(torch.as_tensor(getattr(layer, "theta", 1.0)).detach())
        scale = 1.0 if layer.scale is None else float(layer.scale.detach().flatten()[0])
        if not extreme or differentiable(case, parameters=parameters, scale=scale, theta=theta):
            yield from gradients(out, x, whole)
        for key, value in whole.named_buffers():
            yield from finite(key, value)
            if key.endswith("running_mean"):
                yield from spd(key, value, parameters)
        whole.eval()
        arguments = tuple(a.detach() for a in arguments)
        with torch.no_grad():
            again = whole(*arguments)
            yield from _proper(name, case, "output in evaluation", again, extreme=extreme)
            if extreme:
                return
            bound = error_bound(case, parameters=parameters, theta=theta)
            if name != "gbw-reference":
                # Whose script measures the variance about another point in training.
                yield from near("evaluation against training", again, out.detach(), bound)
            if case.dtype == torch.float32 and bound < 1:
                whole.load_state_dict(start)
                exact = whole.double().train()(*(a.double() if a.is_floating_point() else a for a in arguments))
                yield from near("float32 against float64", out.detach(), exact, bound)

    return run
