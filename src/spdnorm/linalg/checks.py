"""Input checks: what is free is always checked, what costs is switchable.

Shape and dtype are checked always. Finiteness, symmetry and definiteness need a look at the data, which makes
a GPU wait and cannot be traced: those run on the CPU in eager mode, and nowhere else unless asked for with
``checks(True)``; ``checks(False)`` switches them off.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from spdnorm.linalg import native
from spdnorm.linalg.autograd import eager
from spdnorm.linalg.tolerances import rank_tolerance, symmetry_tolerance

_forced: ContextVar[bool | None] = ContextVar("spdnorm_checks", default=None)


@contextmanager
def checks(enabled: bool | None) -> Iterator[None]:
    """Switch the checks that look at the data on or off within the block (``None``: the default rule).

    Examples
    --------
    >>> from spdnorm.linalg import checks, checks_active
    >>> with checks(False):
    ...     checks_active(torch.eye(2))
    False
    """
    token = _forced.set(enabled)
    try:
        yield
    finally:
        _forced.reset(token)


def checks_active(x: Tensor) -> bool:
    """Whether the values of ``x`` may and should be looked at here.

    Examples
    --------
    >>> from spdnorm.linalg import checks_active
    >>> checks_active(torch.eye(2))  # on the CPU, in eager mode
    True
    """
    if not eager():
        return False
    forced = _forced.get()
    return x.device.type == "cpu" if forced is None else forced


def check_tensor(x: Tensor, name: str) -> None:
    """Raise unless ``x`` is a tensor.

    Examples
    --------
    >>> from spdnorm.linalg import check_tensor
    >>> check_tensor(torch.ones(2), "x")
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"`{name}` must be a torch.Tensor, got {type(x).__name__}: wrap it with torch.as_tensor")


def check_square(x: Tensor, name: str) -> None:
    """Raise unless ``x`` is a float32 or float64 tensor of shape (..., n, n).

    Examples
    --------
    >>> from spdnorm.linalg import check_square
    >>> check_square(torch.eye(3), "x")
    """
    check_tensor(x, name)
    if x.dim() < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"`{name}` must have shape (..., n, n), got {tuple(x.shape)}")
    if x.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"`{name}` must be real floating point, float32 or float64, got {x.dtype}: call .to(torch.float64) first"
        )


def check_alike(**named: Tensor) -> None:
    """Raise unless all have the dtype, the device and the matrix size of the first.

    Examples
    --------
    >>> from spdnorm.linalg import check_alike
    >>> check_alike(x=torch.eye(3), y=torch.ones(5, 3, 3))
    """
    (first, x), *others = named.items()
    for name, value in others:
        if value.dtype != x.dtype:
            raise TypeError(f"`{first}` is {x.dtype} and `{name}` is {value.dtype}: call .to({value.dtype}) on one")
        if value.device != x.device:
            raise ValueError(f"`{first}` is on {x.device} and `{name}` on {value.device}: move one to the other")
        if value.shape[-1] != x.shape[-1]:
            raise ValueError(
                f"`{first}` must hold matrices of size {value.shape[-1]} to match `{name}` {tuple(value.shape)}, got "
                f"shape {tuple(x.shape)}"
            )


def check_symmetric(x: Tensor, name: str) -> None:
    """Raise unless ``x`` is square and, where values may be looked at, finite and symmetric.

    Examples
    --------
    >>> from spdnorm.linalg import check_symmetric
    >>> check_symmetric(torch.eye(3), "x")
    """
    check_square(x, name)
    if x.numel() == 0 or not checks_active(x):
        return
    data = x.detach()
    if native.takes(data):
        size, skew = native.extent(data)
    else:
        size, skew = torch.stack([data.abs().amax(), (data - data.mT).abs().amax()]).tolist()
    if not size < float("inf"):
        raise ValueError(
            f"`{name}` contains NaN or infinite values: find where they arise (torch.isfinite), "
            "they are not repaired silently"
        )
    if skew > symmetry_tolerance(x.dtype) * size:
        raise ValueError(
            f"`{name}` is not symmetric (max|X - X^T| = {skew:.2e}, max|X| = {size:.2e}): "
            "pass 0.5 * (x + x.mT) if the asymmetry is rounding"
        )


def check_congruent(values: Tensor, name: str) -> None:
    """Raise where eigenvalues (..., n) of X, or of congruences P X P^T, which keep signs, say that an X is indefinite.

    Rounding is as large as |P|^2 |X|, which a matrix that P all but annihilates does not show: the largest
    eigenvalue of all has to do for its size.

    Examples
    --------
    >>> from spdnorm.linalg import check_congruent
    >>> check_congruent(torch.tensor([0.0, 1.0]), "x")
    """
    if values.numel() == 0 or not checks_active(values):
        return
    lowest, highest = torch.stack(values.detach().aminmax()).tolist()
    if not lowest >= -symmetry_tolerance(values.dtype) * max(highest, -lowest):
        raise ValueError(
            f"`{name}` must be positive semi-definite, one of its matrices has a negative eigenvalue: "
            "spdnorm.linalg.clampm raises those that are rounding"
        )


def check_signals(x: Tensor, name: str) -> None:
    """Raise unless ``x`` is a real tensor (..., channels, times), finite where values may be looked at.

    Examples
    --------
    >>> from spdnorm.linalg import check_signals
    >>> check_signals(torch.randn(4, 8, 125), "x")
    """
    check_tensor(x, name)
    if x.dim() < 2:
        raise ValueError(f"`{name}` must have shape (..., channels, times), got {tuple(x.shape)}")
    if not x.dtype.is_floating_point:
        raise TypeError(f"`{name}` must be real floating point, got {x.dtype}: call .float() first")
    if checks_active(x) and not bool(torch.isfinite(x.detach().sum())) and not bool(torch.isfinite(x).all()):
        raise ValueError(f"`{name}` contains NaN or infinite values: find where they arise (torch.isfinite)")


def check_signals_like(x: Tensor, name: str, channels: int, weight: Tensor) -> None:
    """Raise unless ``x`` holds finite signals (N, channels, times) as a network of this weight takes them.

    Examples
    --------
    >>> from spdnorm.linalg import check_signals_like
    >>> check_signals_like(torch.randn(4, 8, 125), "x", 8, torch.ones(2))
    """
    check_signals(x, name)
    if x.dim() != 3 or x.shape[1] != channels:
        raise ValueError(f"`{name}` must have shape (N, {channels}, T), got {tuple(x.shape)}")
    if x.dtype != weight.dtype:
        raise TypeError(f"`{name}` is {x.dtype} and the network {weight.dtype}: call .to({weight.dtype}) on `{name}`")
    if x.device != weight.device:
        raise ValueError(f"`{name}` is on {x.device} and the network on {weight.device}: move one to the other")


def check_range(out: Tensor, remedy: str) -> None:
    """Raise where a result has left the range of its dtype; ``remedy`` names the arguments and says what to do.

    Examples
    --------
    >>> from spdnorm.linalg import check_range
    >>> check_range(torch.ones(2), "lower `scale`")
    """
    if not checks_active(out):
        return
    data = out.detach()
    # A finite sum tells in one pass; finite numbers may overflow in it.
    if not bool(torch.isfinite(data.sum())) and not bool(torch.isfinite(data).all()):
        raise ValueError(f"the result has left the range of {out.dtype}: {remedy}")


def check_spectrum(values: Tensor, name: str, *, definite: bool) -> None:
    """Raise unless the eigenvalues (..., n) are positive (``definite``) or not negative beyond rounding.

    Examples
    --------
    >>> from spdnorm.linalg import check_spectrum
    >>> check_spectrum(torch.tensor([0.0, 1.0]), "x", definite=False)  # semi-definite will do
    """
    if values.numel() == 0 or not checks_active(values):
        return
    lowest = values.detach().amin(-1, keepdim=True)
    if definite:
        # So that NaN, which is what an overflow ends in, does not pass.
        if not bool((lowest > 0).all()):
            raise ValueError(
                f"`{name}` must be positive definite, its least eigenvalue is {lowest.min().item():.2e}: add a "
                "multiple of the identity, or use the Bures-Wasserstein metric, which allows singular matrices"
            )
    elif not bool((lowest >= -10 * rank_tolerance(values.detach())).all()):
        raise ValueError(f"`{name}` must be positive semi-definite, its least eigenvalue is {lowest.min().item():.2e}")
