"""Divided differences of any order on a spectrum, stable at equal and nearly equal eigenvalues."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from spdnorm.linalg.functions import SpectralFunction
from spdnorm.linalg.tolerances import gap_tolerance, rank_tolerance


def divided_differences(function: SpectralFunction, values: Tensor, order: int) -> Tensor:
    """f[l_i0, ..., l_ik] for all index tuples.

    Parameters
    ----------
    function : SpectralFunction
    values : Tensor, shape (..., n)
    order : int
        k: 0 gives f itself, 1 the Loewner matrix of the Daleckii-Krein formula.

    Returns
    -------
    Tensor, shape (..., n, ..., n) with k + 1 trailing axes of size n

    Examples
    --------
    >>> from spdnorm.linalg import SQRT, divided_differences
    >>> divided_differences(SQRT, torch.tensor([1.0, 1.0, 9.0]), 1)
    tensor([[0.5000, 0.5000, 0.2500],
            [0.5000, 0.5000, 0.2500],
            [0.2500, 0.2500, 0.1667]])
    """
    if order == 0:
        return function.value(values)
    floor = rank_tolerance(values).unsqueeze(-1)
    if order == 1:
        return function.first(values.unsqueeze(-1), values.unsqueeze(-2), floor)
    return _higher(function, values, order)


def _higher(function: SpectralFunction, values: Tensor, order: int) -> Tensor:
    n, lead = values.shape[-1], values.shape[:-1]
    axes = []
    for axis in range(order + 1):
        shape = [1] * (order + 1)
        shape[axis] = n
        axes.append(values.reshape(*lead, *shape))
    floor = rank_tolerance(values).reshape(*lead, *([1] * (order + 1)))
    return divided_difference(function, axes, floor)


def divided_difference(function: SpectralFunction, points: list[Tensor], floor: Tensor) -> Tensor:
    """f[x_0, ..., x_k] elementwise over tensors that broadcast; ``floor`` is the rank tolerance."""
    if len(points) == 1:
        return function.value(points[0])
    if len(points) == 2:
        return function.first(points[0], points[1], floor)
    # A divided difference is symmetric in its points: sorted, the recursion divides by the widest gap.
    ordered = list(torch.stack(torch.broadcast_tensors(*points)).sort(0).values.unbind(0))
    table = [function.first(a, b, floor) for a, b in itertools.pairwise(ordered)]
    for level in range(2, len(points)):
        table = [
            _step(function, ordered[i : i + level + 1], table[i], table[i + 1]) for i in range(len(ordered) - level)
        ]
    # A point on the numerical null space where the derivative is infinite contributes nothing.
    return torch.nan_to_num(table[0], nan=0.0, posinf=0.0, neginf=0.0)


def _step(function: SpectralFunction, points: list[Tensor], lower: Tensor, upper: Tensor) -> Tensor:
    order = len(points) - 1
    gap = points[-1] - points[0]
    mean = torch.stack(points).mean(0)
    small = gap <= gap_tolerance(gap.dtype, order) * function.scale(mean)
    recursed = (upper - lower) / torch.where(small, torch.ones_like(gap), gap)
    # f[x0..xk] = sum_r f^(k+r)(m)/(k+r)! h_r(x - m), with h_1 = 0, h_2 = p_2 / 2, h_3 = p_3 / 3 about the mean.
    deviations = torch.stack([p - mean for p in points])
    series = (
        function.taylor(mean, order)
        + function.taylor(mean, order + 2) * deviations.square().sum(0) / 2
        + function.taylor(mean, order + 3) * (deviations**3).sum(0) / 3
    )
    return torch.where(small, series, recursed)
