"""What a normalisation layer does to a batch, step by step (paper, Eqs. (center), (density), (bias))."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from ..functional.batch_norm import Options, riemannian_batch_norm
from ..nn.norm.base import RiemannianBatchNorm

__all__ = ["STEPS", "ill_conditioned_batch", "normalization_steps"]

#: Step -> what to call it in a picture.
STEPS = {"input": "input", "centred": "centred", "scaled": "scaled", "output": "biased: output"}


@torch.no_grad()
def normalization_steps(layer: RiemannianBatchNorm, x: Tensor) -> dict[str, Tensor]:
    """Return a batch before the layer and after each of its steps; the running statistics are left alone.

    Parameters
    ----------
    layer : RiemannianBatchNorm
        With the batch's statistics in training mode, with its running ones in evaluation mode.
    x : Tensor, shape (N, n, n)

    Returns
    -------
    dict of str to Tensor, shapes (N, n, n)
        ``input``; ``centred`` about the identity (of the metric's own space); ``scaled``; ``output``, moved to the
        bias, which is what the layer returns.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import GBWBatchNorm
    >>> layer, x = GBWBatchNorm(3, dtype=torch.float64), random_spd(3, 10)
    >>> steps = normalization_steps(layer, x)
    >>> list(steps), torch.allclose(steps["output"], layer(x))
    (['input', 'centred', 'scaled', 'output'], True)
    """
    mean, variance = (None, None) if layer.training else (layer.running_mean, layer.running_var)
    options = Options(
        control_variance=layer.controls_variance,
        mean_iterations=layer.mean_iterations,
        eps=layer.eps,
        floor=layer.floor,
    )
    normalize = partial(riemannian_batch_norm, x, layer.kernel(), mean, channels=layer.channels)
    return {
        "input": x,
        "centred": normalize(None, options=replace(options, control_variance=False)),
        "scaled": normalize(variance, scale=layer.scale, options=options),
        "output": normalize(variance, scale=layer.scale, bias=layer.bias, options=options),
    }


def ill_conditioned_batch(count: int, *, seed: int = 0, condition: tuple[float, float] = (1e3, 1e5)) -> Tensor:
    """Return 2 x 2 SPD matrices (count, 2, 2) near the boundary of the cone, condition numbers log-uniform."""
    generator = torch.Generator().manual_seed(seed)
    uniform = torch.rand(3, count, generator=generator, dtype=torch.float64)
    low, high = (float(torch.tensor(bound).log10()) for bound in condition)
    largest = 0.3 + 1.2 * uniform[0]
    kappa = 10 ** (low + (high - low) * uniform[1])
    angle = torch.pi * (0.1 + 0.8 * uniform[2])
    axes = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()], -1).reshape(-1, 2, 2)
    values = torch.stack([largest, largest / kappa], -1)
    return axes.mT @ (values[:, :, None] * axes)
