"""LieBN (Chen et al. 2024) as a layer."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from spdnorm.functional import lie_batch_norm
from spdnorm.functional.kernels import NormKernel
from spdnorm.functional.lie import LieMetric, lie_kernel
from spdnorm.nn.norm.base import RiemannianBatchNorm


class LieBatchNorm(RiemannianBatchNorm):
    """LieBN under power-deformed AIM, LEM or LCM; see :func:`spdnorm.functional.lie_batch_norm`.

    Parameters
    ----------
    num_features : int
    metric : "aim", "lem" or "lcm"
    theta : float
        Power deformation, not 0; no effect under LEM.
    alpha, beta : float
        Inner product at the identity (AIM and LEM).
    translation : "cholesky" or "eigen"
        Under AIM, how data are moved.
    **options
        Those of :class:`RiemannianBatchNorm`.
    """

    def __init__(
        self,
        num_features: int,
        *,
        metric: LieMetric = "aim",
        theta: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.0,
        translation: Literal["cholesky", "eigen"] = "cholesky",
        **options: Any,
    ) -> None:
        self._group: dict[str, Any] = {"theta": theta, "alpha": alpha, "beta": beta, "translation": translation}
        lie_kernel(metric, **self._group)
        super().__init__(num_features, **options)
        self.metric = metric
        self.theta = theta

    def kernel(self) -> NormKernel[Any]:
        """That of the group."""
        return lie_kernel(self.metric, **self._group)

    def _normalize(
        self, x: Tensor, mean: Tensor | None, var: Tensor | None, *, training: bool, momentum: float | Tensor
    ) -> Tensor:
        return lie_batch_norm(
            x,
            mean,
            var,
            metric=self.metric,
            scale=self.scale,
            eps=self.eps,
            training=training,
            momentum=momentum,
            **self._group,
            **self._common(),
        )

    def extra_repr(self) -> str:
        """Arguments that differ between layers."""
        return f"{super().extra_repr()}, metric={self.metric!r}, theta={self.theta:g}"
