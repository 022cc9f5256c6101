"""SPDBN (Brooks et al. 2019) and SPDMBN (Kobler et al. 2022) as layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from spdnorm.functional import spd_batch_norm, spd_momentum_batch_norm
from spdnorm.functional.kernels import AffineInvariantKernel, NormKernel
from spdnorm.geometry import Average
from spdnorm.nn.norm.base import RiemannianBatchNorm
from spdnorm.stats import momentum_schedule


class SPDBatchNorm(RiemannianBatchNorm):
    """SPDBN: the affine-invariant barycentre moves to the bias; the variance is left alone.

    Options are those of :class:`RiemannianBatchNorm`.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import SPDBatchNorm
    >>> layer = SPDBatchNorm(4, dtype=torch.float64)
    >>> layer(random_spd(4, 10)).shape
    torch.Size([10, 4, 4])
    """

    controls_variance = False
    has_scale = False

    def kernel(self) -> NormKernel[Any]:
        """Whitening by square roots."""
        return AffineInvariantKernel()

    def _normalize(
        self,
        x: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        *,
        training: bool,
        momentum: float | Tensor,
        average: Average,
    ) -> Tensor:
        return spd_batch_norm(x, mean, training=training, momentum=momentum, average=average, **self._common())


class SPDMomentumBatchNorm(RiemannianBatchNorm):
    """SPDMBN: mean and variance under AIM, training statistics that are themselves running ones.

    In training the data are normalised by ``training_mean`` and ``training_var``, whose momentum falls from 1 (plain
    batch statistics) to ``min_momentum`` over ``schedule_steps`` batches (:func:`spdnorm.stats.momentum_schedule`);
    ``running_mean`` and ``running_var`` follow with the constant ``momentum`` and serve in evaluation. The
    domain-specific SPDDSMBN is ``DomainBatchNorm(SPDMomentumBatchNorm(...), domains)``.

    Parameters
    ----------
    num_features : int
    min_momentum : float
        The schedule's end; 1 keeps to batch statistics.
    schedule_steps : int
        Batches until it is reached.
    **options
        Those of :class:`RiemannianBatchNorm`.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import SPDMomentumBatchNorm
    >>> SPDMomentumBatchNorm(4, min_momentum=0.1, dtype=torch.float64)(random_spd(4, 10)).shape
    torch.Size([10, 4, 4])
    """

    training_mean: Tensor | None
    training_var: Tensor | None

    def __init__(
        self, num_features: int, *, min_momentum: float = 0.2, schedule_steps: int = 100, **options: Any
    ) -> None:
        momentum_schedule(1, minimum=min_momentum, steps=schedule_steps)
        self.min_momentum = min_momentum
        self.schedule_steps = schedule_steps
        super().__init__(num_features, **options)

    def _register_statistics(self, factory: dict[str, Any]) -> None:
        super()._register_statistics(factory)
        tracked = self.track_running_stats
        self.register_buffer("training_mean", self._identity(factory) if tracked else None)
        self.register_buffer("training_var", torch.ones(self._lead, **factory) if tracked else None)

    def _mean_buffers(self) -> list[Tensor]:
        return [*super()._mean_buffers(), *(b for b in (self.training_mean,) if b is not None)]

    def _var_buffers(self) -> list[Tensor]:
        return [*super()._var_buffers(), *(b for b in (self.training_var,) if b is not None)]

    def kernel(self) -> NormKernel[Any]:
        """Whitening by square roots."""
        return AffineInvariantKernel()

    def _normalize(
        self,
        x: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        *,
        training: bool,
        momentum: float | Tensor,
        average: Average,
    ) -> Tensor:
        count = self.num_batches_tracked
        training_momentum = (
            1.0 if count is None else momentum_schedule(count + 1, minimum=self.min_momentum, steps=self.schedule_steps)
        )
        return spd_momentum_batch_norm(
            x,
            mean,
            var,
            self.training_mean,
            self.training_var,
            scale=self.scale,
            eps=self.eps,
            training=training,
            momentum=momentum,
            training_momentum=training_momentum,
            average=average,
            **self._common(),
        )
