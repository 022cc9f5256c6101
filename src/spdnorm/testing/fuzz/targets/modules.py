"""Layers and networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from spdnorm.models import EEGSPDNet, RResNet, SPDNet
from spdnorm.nn import BiMap, Covariance, LogEig, ReEig, RiemannianResidual
from spdnorm.testing.fuzz.cases import Case, matrices, signals
from spdnorm.testing.fuzz.properties import finite, near, spd
from spdnorm.testing.fuzz.targets.common import Target, gradients

Options = dict[str, Any]


def _smaller(n: int) -> int:
    return max(1, n // 2)


MODULES: dict[str, Callable[[int, Options], nn.Module]] = {
    "bimap": lambda n, o: BiMap(n, _smaller(n), **o),
    "reeig": lambda n, o: ReEig(),
    "logeig": lambda n, o: LogEig(threshold=1e-4),
    "residual-aim": lambda n, o: RiemannianResidual(n, **o),
    "residual-lem": lambda n, o: RiemannianResidual(n, metric="lem", **o),
    "residual-frame": lambda n, o: RiemannianResidual(n, frame="eigenvectors", **o),
    "spdnet": lambda n, o: SPDNet((n, _smaller(n)), 3, norm="gbw", norm_options={"momentum": 1.0}, **o),
    "rresnet": lambda n, o: RResNet((n, _smaller(n)), 3, norm="gbw", norm_options={"momentum": 1.0}, **o),
    "covariance": lambda n, o: Covariance(),
    "eegspdnet": lambda n, o: EEGSPDNet(n, 3, dims=(6, 4), spatial_filters=4, kernel_size=5, norm="gbw", **o),
}
#: These take signals whose second moments are the case's matrices.
ON_SIGNALS = ("covariance", "eegspdnet")
#: No statistics: training and evaluation are the same function.
STATELESS = ("bimap", "reeig", "logeig", "covariance")


def _lone_number(name: str, case: Case) -> bool:
    """Whether a Euclidean batch norm between convolutions has a single number to normalise; torch refuses that."""
    size = {"rresnet": _smaller(case.n)}.get(name, case.n)
    return name.startswith(("residual", "rresnet")) and size * case.batch == 1


def module(name: str) -> Target:
    """A layer or network."""

    def run(case: Case) -> Iterator[str]:
        if _lone_number(name, case):
            return
        torch.manual_seed(case.seed)
        layer = MODULES[name](case.n, {"dtype": case.dtype})
        x = (signals(case) if name in ON_SIGNALS else matrices(case)).requires_grad_()
        out = layer(x)
        yield from _proper(name, "output", out.detach())
        yield from gradients(out, x, layer)
        layer.eval()
        with torch.no_grad():
            again = layer(x)
        yield from _proper(name, "output in evaluation", again)
        if name in STATELESS:
            # Products may be summed in another order where no gradient is asked for.
            rounding = 64 * case.n * torch.finfo(case.dtype).eps
            yield from near("evaluation against training", again, out.detach(), _slack(name) * rounding)

    return run


def _proper(name: str, what: str, out: Tensor) -> Iterator[str]:
    yield from finite(what, out)
    if out.dim() == 3:
        yield from spd(what, out, _slack(name))


def _slack(name: str) -> float:
    # The directions that a bilinear map keeps may be those of the small eigenvalues.
    return 1e4 if name == "bimap" else 1.0
