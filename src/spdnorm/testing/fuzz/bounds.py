"""How far a normalised sample may be from the exact one, as a function of dtype, size and condition number."""

from __future__ import annotations

import math

import torch

from spdnorm.testing.fuzz.cases import Case

#: In units of n eps kappa; what was measured stays an order of magnitude below (docs/reliability.md).
CONSTANT = 1e4
#: Samples near to one another are no better conditioned for that: their deviations are divided by their spread.
LEAST = 100.0
#: Bias and metric up to this condition number; beyond it theirs multiplies the samples'.
WELL_CONDITIONED = 10.0
#: Added to the variance by the layers.
EPS = 1e-5


def error_bound(case: Case, *, parameters: float = 1.0, theta: float = 1.0) -> float:
    """Relative error allowed: CONSTANT n eps kappa^max(theta, 1), kappa the samples' condition number, LEAST or more.

    Infinite, so that nothing is promised, where rounding alone may have made the samples singular, where bias or metric
    are ill conditioned, and where a variance of nearly nothing is divided out: fewer than four samples, or equal ones.
    """
    if not case.definite or parameters > WELL_CONDITIONED or case.batch < 4 or case.equal:
        return math.inf
    return CONSTANT * case.n * torch.finfo(case.dtype).eps * max(case.condition, LEAST) ** max(theta, 1.0)


def differentiable(case: Case, *, parameters: float, scale: float, theta: float) -> bool:
    """Whether squares of all eigenvalues on the way are in the dtype's range, which derivatives are made of.

    On the way in those of M^-1/2 X^theta M^-1/2, on the way out those of (1 + scale / sqrt(eps))^2 to the 1 / theta.
    Beyond, a result may be finite where its gradient is not.
    """
    data = max(abs(math.log(case.scale)), abs(math.log(case.scale / case.condition)))
    scaled = 2 * max(abs(math.log(scale)), abs(math.log(scale / EPS**0.5)))
    farthest = max(max(abs(theta), 1.0) * data, max(1 / abs(theta), 1.0) * scaled) + math.log(parameters)
    return 2 * farthest < math.log(torch.finfo(case.dtype).max)
