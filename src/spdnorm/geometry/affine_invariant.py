"""The affine-invariant metric (Pennec et al. 2006; paper, Eq. (metric_aim))."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.geometry.average import Average
from spdnorm.geometry.base import Metric
from spdnorm.linalg import (
    EXP,
    LOG,
    SQRT,
    cholesky,
    congruence,
    frobenius,
    gram_spectrum,
    solve_congruence,
    spectrum,
    sqrt_and_inverse,
    trace,
)


def check_alpha_beta(alpha: float, beta: float) -> None:
    """Raise unless alpha <u, v> + beta tr(u) tr(v) is positive for some size: alpha > 0."""
    if not alpha > 0:
        raise ValueError(f"`alpha` must be positive, got {alpha}")


def weigh(alpha: float, beta: float, u: Tensor, v: Tensor) -> Tensor:
    """alpha <u, v> + beta tr(u) tr(v) for u, v (..., n, n), refused where n makes it indefinite."""
    if not beta:
        return alpha * frobenius(u, v)
    n = u.shape[-1]
    if not alpha + n * beta > 0:
        raise ValueError(f"`beta` must be above -alpha / n = {-alpha / n:g} for {n} x {n} matrices, got {beta:g}")
    return alpha * frobenius(u, v) + beta * trace(u) * trace(v)


class AffineInvariant(Metric):
    """g_X(U, V) = alpha tr(X^-1 U X^-1 V) + beta tr(X^-1 U) tr(X^-1 V).

    Parameters
    ----------
    alpha, beta : float
        The inner product at the identity, from the O(n)-invariant family (Thanwerdas and Pennec 2019); it is
        positive for alpha > 0 and alpha + n beta > 0. They change lengths and variances, not geodesics or means.

    Notes
    -----
    Whitening is by the Cholesky factor, and the whitened matrix L^-1 Y L^-T is never formed to be decomposed:
    its spectrum comes from the singular values of L_x^-1 L_y, which keeps the digits at high condition numbers.

    Examples
    --------
    >>> from spdnorm.geometry import AffineInvariant
    >>> AffineInvariant().distance(torch.eye(2), torch.e * torch.eye(2))  # sqrt(n) |log e|
    tensor(1.4142)
    """

    def __init__(self, *, alpha: float = 1.0, beta: float = 0.0) -> None:
        check_alpha_beta(alpha, beta)
        self.alpha, self.beta = float(alpha), float(beta)

    def _inner(self, x: Tensor, u: Tensor, v: Tensor) -> Tensor:
        factor = cholesky(x)
        a, b = solve_congruence(factor, u), solve_congruence(factor, v)
        return weigh(self.alpha, self.beta, a, b)

    def _exp(self, x: Tensor, u: Tensor) -> Tensor:
        factor = cholesky(x)
        return congruence(factor, spectrum(solve_congruence(factor, u)).apply(EXP))

    def _whitened_log(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        factor = cholesky(x)
        ratio = torch.linalg.solve_triangular(factor, cholesky(y, name="y"), upper=False)
        return factor, gram_spectrum(ratio).apply(LOG)

    def _log(self, x: Tensor, y: Tensor) -> Tensor:
        return congruence(*self._whitened_log(x, y))

    def _squared_distance(self, x: Tensor, y: Tensor) -> Tensor:
        logarithm = self._whitened_log(x, y)[1]
        return weigh(self.alpha, self.beta, logarithm, logarithm)

    def _geodesic(self, x: Tensor, y: Tensor, t: Tensor) -> Tensor:
        factor = cholesky(x)
        ratio = torch.linalg.solve_triangular(factor, cholesky(y, name="y"), upper=False)
        return congruence(factor, gram_spectrum(ratio).map(LOG).scaled(t).apply(EXP))

    def _transport(self, x: Tensor, y: Tensor, u: Tensor) -> Tensor:
        # E U E^T with E = (Y X^-1)^1/2 = L Z^1/2 L^-1, Z = L^-1 Y L^-T.
        factor = cholesky(x)
        ratio = torch.linalg.solve_triangular(factor, cholesky(y, name="y"), upper=False)
        inner = congruence(gram_spectrum(ratio).apply(SQRT), solve_congruence(factor, u))
        return congruence(factor, inner)

    def _mean_step(self, mean: Tensor, xs: Tensor, average: Average, *, safe: bool) -> tuple[Tensor, Tensor]:
        root, inverse_root = sqrt_and_inverse(mean)
        whitened = spectrum(congruence(inverse_root, xs))
        whitened.check(LOG, "x")
        tangent = average(whitened.apply(LOG))
        residual = torch.linalg.matrix_norm(tangent) / mean.shape[-1] ** 0.5
        if safe:
            tangent = tangent * _step_length(whitened.values, average)
        return congruence(root, spectrum(tangent).apply(EXP)), residual

    def __repr__(self) -> str:
        return f"AffineInvariant(alpha={self.alpha:g}, beta={self.beta:g})"


def _step_length(values: Tensor, average: Average) -> Tensor:
    """2 / sum w_i (1 + c_i), the step of Bini and Iannazzo (2013), which converges from afar.

    c = (1/2) (k + 1) / (k - 1) log k bounds the curvature of the squared distance towards a sample whose
    whitened condition number is k; the plain step of length 1 can diverge when samples are far apart.
    """
    log_condition = torch.log(values[..., -1] / values[..., 0]).clamp_min(1e-6)
    curvature = 0.5 * log_condition / torch.tanh(0.5 * log_condition)
    return 2 / average((1 + curvature)[..., None, None])
