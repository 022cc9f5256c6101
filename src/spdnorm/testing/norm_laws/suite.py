"""What a suite of norm laws is about: how to build the layer, and what the method promises."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spdnorm.geometry import Metric
from spdnorm.nn import RiemannianBatchNorm
from spdnorm.nn.constraints import assign
from spdnorm.testing.matrices import spd_matrices

N = 4


def randomize(layer: RiemannianBatchNorm, *, seed: int = 7, spread: float = 1.5) -> RiemannianBatchNorm:
    """Give a layer random parameters, in place."""
    for i, name in enumerate(layer._spd_parameters()):
        value = getattr(layer, name)
        drawn = spd_matrices(layer.num_features, *value.shape[:-2], condition=spread, seed=seed + i, dtype=value.dtype)
        assign(layer, name, drawn.to(value.device))
    if layer.scale is not None:
        with torch.no_grad():
            layer.scale.fill_(0.3)
    return layer


class NormSuite:
    """Inherit, supply :meth:`make`, and say what the method promises."""

    #: The output's barycentre is the bias.
    controls_mean = True
    #: The output's variance is scale^2.
    controls_variance = True
    #: Singular input gives finite output and gradients.
    allows_singular = False
    #: Decompositions a sample in training and in evaluation, where nothing folds.
    eigh_training: int = 2
    eigh_evaluation: int = 2
    #: Options that take away what makes training differ from evaluation at momentum 1.
    plain: dict[str, Any] = {}  # noqa: RUF012
    #: Relative agreement of float32 with float64.
    float32_tolerance = 2e-3
    #: Up to where float64 stays finite, forward and backward.
    largest_condition = 1e14

    def make(self, n: int, **options: Any) -> RiemannianBatchNorm:
        """A layer of matrix size ``n``; ``options`` are those of :class:`RiemannianBatchNorm`."""
        raise NotImplementedError

    def metric(self, layer: RiemannianBatchNorm) -> Metric:
        """The metric under which the layer's promises hold."""
        raise NotImplementedError

    def layer(self, n: int = N, **options: Any) -> RiemannianBatchNorm:
        """A float64 layer with random parameters."""
        options.setdefault("dtype", torch.float64)
        return randomize(self.make(n, **options))

    def data(self, *batch: int, n: int = N, condition: float = 3.0, seed: int = 0, **options: Any) -> Tensor:
        """A batch close enough together that nothing folds."""
        return spd_matrices(n, *(batch or (12,)), condition=condition, seed=seed, **options)

    def bias(self, layer: RiemannianBatchNorm) -> Tensor:
        """Where the layer promises its output's mean to be."""
        assert layer.bias is not None
        return layer.bias.detach()
