"""The geometries in 50-digit arithmetic, written from the textbook formulas and from nothing of the library.

Each metric is a class with the same short list of methods on mpmath matrices. Nothing here is clever: inverses are
taken, square roots are multiplied out, and 50 digits leave enough of them at condition numbers of 1e10.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import torch
from torch import Tensor

mp.mp.dps = 50

Matrix = mp.matrix


def to_mp(x: Tensor) -> Matrix:
    """The float64 matrix, exactly."""
    return mp.matrix(x.tolist())


def to_torch(x: Matrix) -> Tensor:
    return torch.tensor([[float(x[i, j]) for j in range(x.cols)] for i in range(x.rows)], dtype=torch.float64)


def sym(x: Matrix) -> Matrix:
    return (x + x.T) / 2


def trace(x: Matrix) -> mp.mpf:
    return mp.fsum(x[i, i] for i in range(x.rows))


def eig(x: Matrix) -> tuple[list[mp.mpf], Matrix]:
    values, vectors = mp.eigsy(sym(x))
    return list(values), vectors


def apply(x: Matrix, f: Callable[[mp.mpf], mp.mpf]) -> Matrix:
    values, u = eig(x)
    return u * mp.diag([f(v) for v in values]) * u.T


def sqrt(x: Matrix) -> Matrix:
    return apply(x, lambda v: mp.sqrt(max(v, mp.mpf(0))))


def inv(x: Matrix) -> Matrix:
    return x**-1


def power(x: Matrix, t: float) -> Matrix:
    return apply(x, lambda v: mp.power(v, mp.mpf(t)))


def log(x: Matrix) -> Matrix:
    return apply(x, mp.log)


def exp(x: Matrix) -> Matrix:
    return apply(x, mp.exp)


def divided(f: Callable[[mp.mpf], mp.mpf], df: Callable[[mp.mpf], mp.mpf], a: mp.mpf, b: mp.mpf) -> mp.mpf:
    """First divided difference; at gaps beyond the working precision, the derivative."""
    if abs(a - b) <= mp.mpf(10) ** (-mp.mp.dps // 2) * (abs(a) + abs(b)):
        return df((a + b) / 2)
    return (f(a) - f(b)) / (a - b)


def differential(
    x: Matrix, u: Matrix, f: Callable[[mp.mpf], mp.mpf], df: Callable[[mp.mpf], mp.mpf], *, inverse: bool = False
) -> Matrix:
    """Daleckii-Krein, or its inverse operator (division by the divided differences)."""
    values, v = eig(x)
    w = v.T * u * v
    n = x.rows
    out = mp.zeros(n)
    for i in range(n):
        for j in range(n):
            d = divided(f, df, values[i], values[j])
            out[i, j] = w[i, j] / d if inverse else w[i, j] * d
    return v * out * v.T


def lyapunov(x: Matrix, s: Matrix) -> Matrix:
    values, v = eig(x)
    w = v.T * s * v
    n = x.rows
    return v * mp.matrix([[w[i, j] / (values[i] + values[j]) for j in range(n)] for i in range(n)]) * v.T


class Metric:
    """What the general formulas give; a metric fills in ``inner``, ``exp``, ``log`` and ``mean``."""

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        raise NotImplementedError

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        raise NotImplementedError

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        raise NotImplementedError

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        raise NotImplementedError

    def distance(self, x: Matrix, y: Matrix) -> mp.mpf:
        u = self.log(x, y)
        return mp.sqrt(self.inner(x, u, u))

    def geodesic(self, x: Matrix, y: Matrix, t: float) -> Matrix:
        return self.exp(x, self.log(x, y) * mp.mpf(t))


class BuresWasserstein(Metric):
    def optimal_map(self, x: Matrix, y: Matrix) -> Matrix:
        r = sqrt(x)
        i = inv(r)
        return i * sqrt(r * y * r) * i

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        return trace(lyapunov(x, u) * v) / 2

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        p = lyapunov(x, u)
        return x + u + p * x * p

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        t = self.optimal_map(x, y)
        return t * x + x * t - 2 * x

    def distance(self, x: Matrix, y: Matrix) -> mp.mpf:
        r = sqrt(x)
        return mp.sqrt(abs(trace(x) + trace(y) - 2 * trace(sqrt(r * y * r))))

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        g = mp.zeros(xs[0].rows)
        for weight, x in zip(w, xs, strict=True):
            g += mp.mpf(weight) * x
        for _ in range(500):
            r = sqrt(g)
            i = inv(r)
            pulled = mp.zeros(g.rows)
            for weight, x in zip(w, xs, strict=True):
                pulled += mp.mpf(weight) * sqrt(r * x * r)
            moved = mp.norm(pulled - g) / mp.norm(g)
            g = sym(i * pulled * pulled * i)
            if moved < mp.mpf(10) ** -22:
                break
        return g


class GeneralizedBuresWasserstein(Metric):
    """From the generalised Lyapunov equation by Kronecker products, as the definition has it."""

    def __init__(self, m: Matrix) -> None:
        self.m, self.root, self.inv_root, self.bw = m, sqrt(m), inv(sqrt(m)), BuresWasserstein()

    def lyapunov(self, x: Matrix, s: Matrix) -> Matrix:
        n = x.rows
        big, right = mp.zeros(n * n), mp.zeros(n * n, 1)
        for i in range(n):
            for j in range(n):
                right[i * n + j] = s[i, j]
                for k in range(n):
                    for q in range(n):
                        big[i * n + j, k * n + q] = x[i, k] * self.m[q, j] + self.m[i, k] * x[q, j]
        solution = mp.lu_solve(big, right)
        return mp.matrix([[solution[i * n + j] for j in range(n)] for i in range(n)])

    def _in(self, x: Matrix) -> Matrix:
        return self.inv_root * x * self.inv_root

    def _out(self, x: Matrix) -> Matrix:
        return self.root * x * self.root

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        return trace(self.lyapunov(x, u) * v) / 2

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        p = self.lyapunov(x, u)
        return x + u + self.m * p * x * p * self.m

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        return self._out(self.bw.log(self._in(x), self._in(y)))

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        return self._out(self.bw.mean([self._in(x) for x in xs], w))


class AffineInvariant(Metric):
    def __init__(self, alpha: float = 1.0, beta: float = 0.0) -> None:
        self.alpha, self.beta = mp.mpf(alpha), mp.mpf(beta)

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        a, b = inv(x) * u, inv(x) * v
        return self.alpha * trace(a * b) + self.beta * trace(a) * trace(b)

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        r = sqrt(x)
        i = inv(r)
        return r * exp(i * u * i) * r

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        r = sqrt(x)
        i = inv(r)
        return r * log(i * y * i) * r

    def transport(self, x: Matrix, y: Matrix, u: Matrix) -> Matrix:
        r = sqrt(x)
        i = inv(r)
        e = r * sqrt(i * y * i) * i
        return e * u * e.T

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        # Averaged logarithms with a halved step on far samples; the fixed point is the mean whatever the step.
        g = LogEuclidean().mean(xs, w)
        for _ in range(2000):
            r = sqrt(g)
            i = inv(r)
            step, curvature = mp.zeros(g.rows), mp.mpf(0)
            for weight, x in zip(w, xs, strict=True):
                values, u = eig(i * x * i)
                step += mp.mpf(weight) * (u * mp.diag([mp.log(v) for v in values]) * u.T)
                spread = mp.log(values[-1] / values[0]) / 2
                curvature += mp.mpf(weight) * (1 if spread == 0 else spread / mp.tanh(spread))
            g = sym(r * exp(step * (2 / (1 + curvature))) * r)
            if mp.norm(step) < mp.mpf(10) ** -22:
                break
        return g


class LogEuclidean(Metric):
    def __init__(self, alpha: float = 1.0, beta: float = 0.0) -> None:
        self.alpha, self.beta = mp.mpf(alpha), mp.mpf(beta)

    def push(self, x: Matrix, u: Matrix) -> Matrix:
        return differential(x, u, mp.log, lambda v: 1 / v)

    def pull(self, x: Matrix, u: Matrix) -> Matrix:
        return differential(x, u, mp.log, lambda v: 1 / v, inverse=True)

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        a, b = self.push(x, u), self.push(x, v)
        return self.alpha * trace(a * b) + self.beta * trace(a) * trace(b)

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        return exp(log(x) + self.push(x, u))

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        return self.pull(x, log(y) - log(x))

    def transport(self, x: Matrix, y: Matrix, u: Matrix) -> Matrix:
        return self.pull(y, self.push(x, u))

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        total = mp.zeros(xs[0].rows)
        for weight, x in zip(w, xs, strict=True):
            total += mp.mpf(weight) * log(x)
        return exp(total)


class LogCholesky(Metric):
    """Lin (2019), entry by entry."""

    def push(self, x: Matrix, u: Matrix) -> Matrix:
        factor = mp.cholesky(x)
        i = inv(factor)
        half = i * u * i.T
        n = x.rows
        half = mp.matrix(
            [[half[a, b] if a > b else half[a, b] / 2 if a == b else 0 for b in range(n)] for a in range(n)]
        )
        d = factor * half
        return mp.matrix([[d[a, b] / factor[a, a] if a == b else d[a, b] for b in range(n)] for a in range(n)])

    def chart(self, x: Matrix) -> Matrix:
        c = mp.cholesky(x)
        n = x.rows
        return mp.matrix([[mp.log(c[a, a]) if a == b else c[a, b] for b in range(n)] for a in range(n)])

    def unchart(self, y: Matrix) -> Matrix:
        n = y.rows
        c = mp.matrix([[mp.exp(y[a, a]) if a == b else y[a, b] for b in range(n)] for a in range(n)])
        return c * c.T

    def pull(self, x: Matrix, z: Matrix) -> Matrix:
        c = mp.cholesky(x)
        n = x.rows
        d = mp.matrix([[z[a, b] * c[a, a] if a == b else z[a, b] for b in range(n)] for a in range(n)])
        return d * c.T + c * d.T

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        a, b = self.push(x, u), self.push(x, v)
        return mp.fsum(a[i, j] * b[i, j] for i in range(x.rows) for j in range(x.rows))

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        return self.unchart(self.chart(x) + self.push(x, u))

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        return self.pull(x, self.chart(y) - self.chart(x))

    def transport(self, x: Matrix, y: Matrix, u: Matrix) -> Matrix:
        return self.pull(y, self.push(x, u))

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        total = mp.zeros(xs[0].rows)
        for weight, x in zip(w, xs, strict=True):
            total += mp.mpf(weight) * self.chart(x)
        return self.unchart(total)


class PowerDeformed(Metric):
    def __init__(self, base: Metric, theta: float) -> None:
        self.base, self.theta = base, mp.mpf(theta)

    def _in(self, x: Matrix) -> Matrix:
        return power(x, self.theta)

    def _out(self, x: Matrix) -> Matrix:
        return power(x, 1 / self.theta)

    def _functions(self) -> tuple[Callable[[mp.mpf], mp.mpf], Callable[[mp.mpf], mp.mpf]]:
        t = self.theta
        return (lambda v: mp.power(v, t)), (lambda v: t * mp.power(v, t - 1))

    def push(self, x: Matrix, u: Matrix) -> Matrix:
        return differential(x, u, *self._functions())

    def pull(self, x: Matrix, u: Matrix) -> Matrix:
        return differential(x, u, *self._functions(), inverse=True)

    def inner(self, x: Matrix, u: Matrix, v: Matrix) -> mp.mpf:
        return self.base.inner(self._in(x), self.push(x, u), self.push(x, v)) / self.theta**2

    def exp(self, x: Matrix, u: Matrix) -> Matrix:
        return self._out(self.base.exp(self._in(x), self.push(x, u)))

    def log(self, x: Matrix, y: Matrix) -> Matrix:
        return self.pull(x, self.base.log(self._in(x), self._in(y)))

    def transport(self, x: Matrix, y: Matrix, u: Matrix) -> Matrix:
        return self.pull(y, self.base.transport(self._in(x), self._in(y), self.push(x, u)))

    def distance(self, x: Matrix, y: Matrix) -> mp.mpf:
        return self.base.distance(self._in(x), self._in(y)) / abs(self.theta)

    def mean(self, xs: list[Matrix], w: list[float]) -> Matrix:
        return self._out(self.base.mean([self._in(x) for x in xs], w))
