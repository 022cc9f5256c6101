"""The step of a Riemannian residual network on SPD matrices (Katsman et al. 2023): Exp_X of a vector field at X."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.linalg import EXP, INV_SQRT, LOG, SQRT, Spectrum, congruence, full_precision, safe_sqrt, spectrum

METRICS = ("aim", "lem")


def check_metric(metric: str) -> None:
    """Raise unless the exponential of this metric is at hand."""
    if metric not in METRICS:
        raise ValueError(f"`metric` must be one of {', '.join(METRICS)}, got {metric!r}")


def _unit(u: Tensor) -> Tensor:
    """``u`` (..., n, n) at unit Frobenius length; 0 stays 0."""
    length = safe_sqrt(u.square().sum((-2, -1), keepdim=True))
    return u / torch.where(length > 0, length, torch.ones_like(length))


@full_precision
def residual_step(x: Spectrum, v: Tensor, *, metric: str = "aim", normalize: bool = True) -> Tensor:
    """Exp_X(V), or Exp_X(V / |V|_X), of a metric.

    Parameters
    ----------
    x : Spectrum
        Decomposed SPD matrices (..., n, n).
    v : Tensor, shape (..., n, n)
        Symmetric: the tangent vector V for ``"aim"``; for ``"lem"`` its logarithmic coordinates D log_X[V], as in the
        released code of Katsman et al., which cost no second derivative of the logarithm on the way back.
    metric : "aim" or "lem"
        The affine-invariant or the log-Euclidean metric.
    normalize : bool
        Give every step unit length in the metric, as the released networks of Katsman et al. do.

    Returns
    -------
    Tensor, shape (..., n, n)

    Examples
    --------
    >>> from spdnorm.functional import residual_step
    >>> from spdnorm.linalg import spectrum
    >>> residual_step(spectrum(torch.eye(2)), torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_metric(metric)
    if metric == "aim":
        root = x.apply(SQRT)
        u = congruence(x.apply(INV_SQRT), v)
        return congruence(root, spectrum(_unit(u) if normalize else u).apply(EXP))
    return spectrum(x.apply(LOG) + (_unit(v) if normalize else v)).apply(EXP)
