"""The paper's Alg. 1, literally: scipy and NumPy, sample by sample, no code shared with the package.

Matrix functions by scipy.linalg, the Lyapunov operator by scipy's solver, transport in an explicit eigenbasis.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla


def _power(x, p):
    values, vectors = np.linalg.eigh(x)
    return (vectors * np.clip(values, 0, None) ** p) @ vectors.T


def _sqrt_product(x, y):
    """(XY)^1/2 = X^1/2 (X^1/2 Y X^1/2)^1/2 X^-1/2 (paper, Eq. (sqr))."""
    root = _power(x, 0.5)
    return root @ _power(root @ y @ root, 0.5) @ np.linalg.inv(root)


def log(x, y):
    """Log_X Y = (YX)^1/2 + (XY)^1/2 - 2 X."""
    product = _sqrt_product(x, y)
    return product.T + product - 2 * x


def exp(x, s):
    """Exp_X S = X + S + L_X(S) X L_X(S)."""
    lyapunov = sla.solve_continuous_lyapunov(x, s)
    return x + s + lyapunov @ x @ lyapunov


def transport_to_identity(x, s):
    """From X to I: sqrt(2 / (l_i + l_j)) in the eigenbasis of X."""
    values, vectors = np.linalg.eigh(x)
    return vectors @ (np.sqrt(2 / (values[:, None] + values[None])) * (vectors.T @ s @ vectors)) @ vectors.T


def transport_from_identity(x, s):
    """From I to X."""
    values, vectors = np.linalg.eigh(x)
    return vectors @ (np.sqrt((values[:, None] + values[None]) / 2) * (vectors.T @ s @ vectors)) @ vectors.T


def squared_distance(x, y):
    """tr X + tr Y - 2 tr (X^1/2 Y X^1/2)^1/2: the root inside the trace, where the paper's table has it outside."""
    root = _power(x, 0.5)
    return np.trace(x) + np.trace(y) - 2 * np.trace(_power(root @ y @ root, 0.5))


def barycentre(xs, iterations):
    """The fixed point of the paper's Eq. (mean_compute2), from the arithmetic mean."""
    g = np.mean(xs, axis=0)
    for _ in range(iterations):
        root, inverse = _power(g, 0.5), _power(g, -0.5)
        total = np.mean([_power(root @ x @ root, 0.5) for x in xs], axis=0)
        g = inverse @ total @ total @ inverse
    return g


def two_point_mean(x, y, omega):
    """The paper's Eq. (mean_compute1)."""
    product = _sqrt_product(x, y)
    return (1 - omega) ** 2 * x + omega**2 * y + omega * (1 - omega) * (product + product.T)


def gbwbn(
    xs, running_mean, running_var, *, m, g, s, theta, training, momentum, eps, iterations,
    about_identity=False, raw_target=False, least=None,
):  # fmt: skip
    """Alg. 1. Returns the normalised batch and the new running statistics.

    As the released script has it: the variance ``about_identity``; the last transport to the ``raw_target`` G. To the
    list ``least`` goes the least eigenvalue of I + S/2 for every Exp_I(S): negative where the composition folds.
    """
    identity = np.eye(len(m))
    m_root, m_inverse = _power(m, 0.5), _power(m, -0.5)
    hats = [m_inverse @ _power(x, theta) @ m_inverse for x in xs]
    g_hat = m_inverse @ _power(g, theta) @ m_inverse
    mean, var = running_mean, running_var
    if training:
        mean = barycentre(hats, iterations)
        var = np.mean([squared_distance(identity if about_identity else mean, x) for x in hats]) / theta**2
        running_mean = two_point_mean(running_mean, mean, momentum)
        running_var = (1 - momentum) * running_var + momentum * var
    out = []
    for x in hats:
        step = transport_to_identity(mean, log(mean, x))
        centred = exp(identity, step)
        stretch = s / np.sqrt(var + eps) * log(identity, centred)
        scaled = exp(identity, stretch)
        if least is not None:
            least += [np.linalg.eigvalsh(identity + half / 2).min() for half in (step, stretch)]
        biased = exp(g_hat, transport_from_identity(g if raw_target else g_hat, log(identity, scaled)))
        out.append(_power(m_root @ biased @ m_root, 1 / theta))
    return np.array(out), running_mean, running_var
