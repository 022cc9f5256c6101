"""What the normalisation of a trained network does to the features of a part of the data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..nn import GBWBatchNorm, RiemannianBatchNorm
from .conditioning import condition_numbers, norm_places
from .data import Part

__all__ = ["fold_shares", "inspect_normalisation"]


@torch.no_grad()
def inspect_normalisation(model: nn.Module, part: Part) -> dict[str, float]:
    """Look at the features before and after the first normalisation, in evaluation mode.

    Returns
    -------
    dict
        ``condition_before`` and ``condition_after``: median condition number over samples. ``size_before`` and
        ``size_after``: geometric mean of all eigenvalues. ``length``: mean Euclidean norm of the vectors that the
        linear layer sees. ``separation``: mean squared distance of their class means from the mean of these, over the
        mean squared distance of a sample from its class mean. With a normalisation that controls the variance
        ``scale``, the learned one, and ``factor``, the same over the running standard deviation; with GBWBN also
        ``metric_min``, ``metric_max``, ``bias_min``, ``bias_max``, extreme eigenvalues of M and G, and what
        :func:`fold_shares` returns.

    Examples
    --------
    >>> import torch
    >>> from spdnorm.experiments import inspect_normalisation
    >>> from spdnorm.experiments.data import Part
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.models import SPDNet
    >>> model = SPDNet((4, 3), 2, norm="gbw", dtype=torch.float64)
    >>> found = inspect_normalisation(model, Part(random_spd(4, 20), torch.arange(20) % 2))
    >>> found["metric_min"], found["condition_after"] >= 1
    (1.0, True)
    """
    norm = next(iter(norm_places(model).values()))
    seen: dict[str, Tensor] = {}

    def record(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        seen.update(before=inputs[0], after=output)

    was_training = model.training
    handle = norm.register_forward_hook(record)
    try:
        vectors = model.eval().features(*part.inputs(slice(None)))  # type: ignore[operator]
    finally:
        handle.remove()
        model.train(was_training)
    found: dict[str, float] = {}
    for side, x in seen.items():
        found[f"condition_{side}"] = float(condition_numbers(x).median())
        found[f"size_{side}"] = float(torch.linalg.slogdet(x).logabsdet.mean().div(x.shape[-1]).exp())
    found["length"] = float(vectors.norm(dim=1).mean())
    found["separation"] = _separation(vectors, part.y)
    if isinstance(norm, RiemannianBatchNorm) and norm.running_var is not None and norm.scale is not None:
        found |= {"scale": float(norm.scale.mean()), "factor": float(_factor(norm).mean())}
    if isinstance(norm, GBWBatchNorm):
        found |= _extremes("bias", norm.bias) | _extremes("metric", norm.metric) | fold_shares(norm, seen["before"])
    return found


@torch.no_grad()
def fold_shares(norm: GBWBatchNorm, x: Tensor) -> dict[str, float]:
    """Return the share of samples (N, n, n) that fold where they are centred, and where they are scaled.

    ``folds_centring``: I + V/2 is indefinite, with V the transported tangent vector (paper, Eq. (center)).
    ``folds_scaling``: so is I + f R with R = |I + V/2| - I and f the scale over the running standard deviation.
    ``nearest``: median over samples of the least eigenvalue of |I + f R|, whose square is that of the scaled sample
    about the identity: near 0 a small step in it is a large one in the logarithm.

    Examples
    --------
    >>> import torch
    >>> from spdnorm.experiments import fold_shares
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import GBWBatchNorm
    >>> norm = GBWBatchNorm(4, dtype=torch.float64).eval()
    >>> fold_shares(norm, random_spd(4, 20, condition=2.0))["folds_centring"]
    0.0
    """
    kernel = norm.kernel()
    assert norm.running_mean is not None
    deviation = kernel.deviation(kernel.enter(x), kernel.load(norm.running_mean))
    centred = 1 + torch.linalg.eigvalsh(deviation)
    scaled = 1 + _factor(norm)[..., None] * (centred.abs() - 1)
    return {
        "folds_centring": float((centred < 0).any(-1).double().mean()),
        "folds_scaling": float((scaled < 0).any(-1).double().mean()),
        "nearest": float(scaled.abs().amin(-1).median()),
    }


def _factor(norm: RiemannianBatchNorm) -> Tensor:
    assert norm.running_var is not None
    scale = norm.running_var.new_ones(()) if norm.scale is None else norm.scale
    return scale / (norm.running_var + norm.eps).sqrt()


def _extremes(name: str, matrix: Tensor | None) -> dict[str, float]:
    if matrix is None:
        return {}
    values = torch.linalg.eigvalsh(matrix)
    return {f"{name}_min": float(values.min()), f"{name}_max": float(values.max())}


def _separation(vectors: Tensor, y: Tensor) -> float:
    labels, member = torch.unique(y, return_inverse=True)
    means = torch.stack([vectors[member == k].mean(0) for k in range(len(labels))])
    between = (means - means.mean(0)).square().sum(1).mean()
    return float(between / (vectors - means[member]).square().sum(1).mean())
