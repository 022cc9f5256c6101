"""Scalar functions of a spectrum with exact first divided differences and Taylor coefficients.

A function f of a symmetric matrix X = U diag(l) U^T is U diag(f(l)) U^T; its derivatives are contractions with
the divided differences of f (paper, Eqs. (svd) and (dif); Daleckii and Krein 1965; Bhatia 1997, ch. V). Each
class writes f[a, b] in a form without cancellation, however small the gap a - b:
for powers, with u = log(min / max), f[a, b] = max^(t-1) expm1(t u) / expm1(u), whose relative error stays at
rounding because the same u stands above and below.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from spdnorm.linalg.tolerances import rank_tolerance


@dataclass(frozen=True)
class SpectralFunction(ABC):
    """A scalar function to be applied to eigenvalues.

    Examples
    --------
    >>> from spdnorm.linalg import LOG, SpectralFunction
    >>> isinstance(LOG, SpectralFunction)
    True
    >>> LOG.first(torch.tensor(2.0), torch.tensor(2.0), floor=torch.tensor(0.0))  # f[a, a] = f'(a)
    tensor(0.5000)
    """

    @abstractmethod
    def value(self, x: Tensor) -> Tensor:
        """Elementwise f(x)."""

    @abstractmethod
    def taylor(self, x: Tensor, order: int) -> Tensor:
        """Elementwise f^(order)(x) / order!."""

    @abstractmethod
    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:
        """First divided difference f[a, b], f'(a) where a = b; broadcast.

        ``floor`` is the rank tolerance: where the derivative is infinite on the numerical null space (both
        arguments at or below it), the value is 0, the derivative along matrices of constant rank.
        """

    def scale(self, x: Tensor) -> Tensor:
        """The length on which f varies near x: gaps are small or large relative to it."""
        return x.abs()

    @property
    def needs_definite(self) -> bool:
        """Whether f is infinite or undefined at 0."""
        return False

    @property
    def needs_semidefinite(self) -> bool:
        """Whether f is undefined below 0."""
        return False


def _log_ratio(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The larger argument and log(min / max) <= 0 (-inf where min is 0, 0 where both are)."""
    high, low = torch.maximum(a, b), torch.minimum(a, b)
    safe = torch.where(high > 0, high, torch.ones_like(high))
    ratio = torch.where(high > 0, low / safe, torch.ones_like(high))
    return high, torch.log(ratio)


def _over_expm1(numerator: Tensor, u: Tensor, limit: float) -> Tensor:
    """``numerator / expm1(u)`` with its limit at u = 0."""
    small = u == 0
    return torch.where(small, torch.full_like(u, limit), numerator / torch.expm1(torch.where(small, -1.0, u)))


@dataclass(frozen=True)
class Log(SpectralFunction):
    """Natural logarithm; needs a positive spectrum."""

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        return torch.log(x)

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        return torch.log(x) if order == 0 else (-1) ** (order - 1) / (order * x**order)

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        high, u = _log_ratio(a, b)
        return _over_expm1(u, u, 1.0) / high

    @property
    def needs_definite(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True)
class Exp(SpectralFunction):
    """exp(rate x); the rates 1/2 and -1/2 give both roots of exp(X) from X itself."""

    rate: float = 1.0

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        return torch.exp(self.rate * x)

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        return torch.exp(self.rate * x) * (self.rate**order / math.factorial(order))

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        a, b = self.rate * a, self.rate * b
        # Where the gap is 0, expm1(-tiny) / -tiny is 1 to the last digit.
        gap = -(a - b).abs().clamp_min(torch.finfo(a.dtype).tiny)
        return torch.exp(torch.maximum(a, b)) * (self.rate * (torch.expm1(gap) / gap))

    def scale(self, x: Tensor) -> Tensor:  # noqa: D102
        return torch.ones_like(x)


@dataclass(frozen=True)
class Power(SpectralFunction):
    """Any real power; rounding below zero is clamped to zero.

    Examples
    --------
    >>> from spdnorm.linalg import Power
    >>> Power(0.5).value(torch.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """

    exponent: float

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        x = x.clamp_min(0)
        if self.exponent == 0.5:
            return torch.sqrt(x)
        if self.exponent == -0.5:
            return torch.rsqrt(x)
        return x**self.exponent

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        binomial = math.prod([(self.exponent - i) / (i + 1) for i in range(order)])
        return binomial * x.clamp_min(0) ** (self.exponent - order)

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        t = self.exponent
        a, b = a.clamp_min(0), b.clamp_min(0)
        if t == 0.5:
            result = 1 / (torch.sqrt(a) + torch.sqrt(b))
        elif t == -0.5:
            root_a, root_b = torch.sqrt(a), torch.sqrt(b)
            result = -1 / (root_a * root_b * (root_a + root_b))
        else:
            high, u = _log_ratio(a, b)
            result = high ** (t - 1) * _over_expm1(torch.expm1(t * u), u, t)
        if 0 < t < 1:
            result = torch.where(torch.maximum(a, b) <= floor, torch.zeros_like(result), result)
        return result

    @property
    def needs_definite(self) -> bool:  # noqa: D102
        return self.exponent < 0

    @property
    def needs_semidefinite(self) -> bool:  # noqa: D102
        return True


@dataclass(frozen=True)
class Clamp(SpectralFunction):
    """max(x, minimum): the rectification of SPDNet's ReEig (Huang and Van Gool 2017).

    Examples
    --------
    >>> from spdnorm.linalg import Clamp
    >>> Clamp(0.5).value(torch.tensor([0.0, 2.0]))
    tensor([0.5000, 2.0000])
    """

    minimum: float

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        return x.clamp_min(self.minimum)

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        if order == 0:
            return self.value(x)
        return (x > self.minimum).to(x.dtype) if order == 1 else torch.zeros_like(x)

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        high, low = torch.maximum(a, b), torch.minimum(a, b)
        mixed = (high - self.minimum) / torch.where(high > low, high - low, torch.ones_like(high))
        return torch.where(low > self.minimum, torch.ones_like(mixed), mixed.clamp(0, 1))


@dataclass(frozen=True)
class Absolute(SpectralFunction):
    """|x|: the fold of the Bures-Wasserstein exponential at the identity."""

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        return x.abs()

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        if order == 0:
            return x.abs()
        return torch.sign(x) if order == 1 else torch.zeros_like(x)

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        # (|a| - |b|) / (a - b) is the common sign, or (a + b) / (|a| + |b|) where the signs differ.
        total = a.abs() + b.abs()
        mixed = (a + b) / torch.where(total > 0, total, torch.ones_like(total))
        return torch.where(torch.sign(a) == torch.sign(b), torch.sign(a), mixed)


@dataclass(frozen=True)
class PseudoInverseSqrt(SpectralFunction):
    """x^-1/2 above the rank tolerance, 0 on the numerical null space; differentiated at constant rank."""

    def value(self, x: Tensor) -> Tensor:  # noqa: D102
        kept = x > rank_tolerance(x)
        return torch.where(kept, torch.rsqrt(torch.where(kept, x, 1.0)), 0.0)

    def taylor(self, x: Tensor, order: int) -> Tensor:  # noqa: D102
        return Power(-0.5).taylor(x, order)

    def first(self, a: Tensor, b: Tensor, floor: Tensor) -> Tensor:  # noqa: D102
        high, low = torch.maximum(a, b), torch.minimum(a, b)
        safe_high = torch.where(high > floor, high, 1.0)
        root_high = torch.sqrt(safe_high)
        root_low = torch.sqrt(torch.where(low > floor, low, 1.0))
        regular = -1 / (root_high * root_low * (root_high + root_low))
        mixed = 1 / (root_high * safe_high)
        return torch.where(low > floor, regular, torch.where(high > floor, mixed, 0.0))


LOG = Log()
EXP = Exp()
SQRT = Power(0.5)
INV_SQRT = Power(-0.5)
INVERSE = Power(-1.0)
PSEUDO_INV_SQRT = PseudoInverseSqrt()
ABS = Absolute()
