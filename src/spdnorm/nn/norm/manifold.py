"""ManifoldNorm (Chakraborty 2020) as a layer."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from spdnorm.functional import manifold_norm
from spdnorm.functional.kernels import NormKernel
from spdnorm.functional.manifold import manifold_kernel
from spdnorm.geometry import Average
from spdnorm.nn.norm.base import RiemannianBatchNorm


class ManifoldNorm(RiemannianBatchNorm):
    """Exp_G(k PT_{I -> G} PT_{B -> I} Log_B X).

    See :func:`spdnorm.functional.manifold_norm` for k, and for how sure that is.

    Parameters
    ----------
    num_features : int
    metric : "aim" or "lem"
    algorithm : 1 or 2
        1: k is the learnable scale; 2: the scale over the batch's standard deviation.
    **options
        Those of :class:`RiemannianBatchNorm`.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import ManifoldNorm
    >>> ManifoldNorm(4, metric="lem", algorithm=2, dtype=torch.float64)(random_spd(4, 10)).shape
    torch.Size([10, 4, 4])
    """

    def __init__(
        self,
        num_features: int,
        *,
        metric: Literal["aim", "lem"] = "aim",
        algorithm: Literal[1, 2] = 1,
        **options: Any,
    ) -> None:
        manifold_kernel(metric)
        if algorithm not in (1, 2):
            raise ValueError(f"`algorithm` must be 1 or 2, got {algorithm!r}")
        self.controls_variance = algorithm == 2
        super().__init__(num_features, **options)
        self.metric = metric
        self.algorithm = algorithm

    def kernel(self) -> NormKernel[Any]:
        """That of the metric."""
        return manifold_kernel(self.metric)

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
        return manifold_norm(
            x,
            mean,
            var,
            metric=self.metric,
            algorithm=self.algorithm,
            scale=self.scale,
            eps=self.eps,
            training=training,
            momentum=momentum,
            average=average,
            **self._common(),
        )

    def extra_repr(self) -> str:
        """Arguments that differ between layers."""
        return f"{super().extra_repr()}, metric={self.metric!r}, algorithm={self.algorithm}"
