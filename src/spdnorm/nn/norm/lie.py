"""LieBN (Chen et al. 2024) as a layer."""

from __future__ import annotations

from typing import Any, Literal

from torch import Tensor

from spdnorm.functional import lie_batch_norm
from spdnorm.functional.kernels import NormKernel
from spdnorm.functional.lie import LieMetric, check_inner_product, lie_kernel
from spdnorm.geometry import Average
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

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import LieBatchNorm
    >>> LieBatchNorm(4, metric="lcm", theta=0.5, dtype=torch.float64)(random_spd(4, 10)).shape
    torch.Size([10, 4, 4])
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
        if translation not in ("cholesky", "eigen"):
            raise ValueError(f"`translation` must be 'cholesky' or 'eigen', got {translation!r}")
        check_inner_product(num_features, alpha, beta)
        lie_kernel(metric, **self._group)
        super().__init__(num_features, **options)
        self.metric = metric
        self.theta = theta

    def kernel(self) -> NormKernel[Any]:
        """That of the group."""
        return lie_kernel(self.metric, **self._group)

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
        return lie_batch_norm(
            x,
            mean,
            var,
            metric=self.metric,
            scale=self.scale,
            eps=self.eps,
            training=training,
            momentum=momentum,
            average=average,
            **self._group,
            **self._common(),
        )

    def extra_repr(self) -> str:
        """Arguments that differ between layers."""
        parts = [super().extra_repr(), f"metric={self.metric!r}", f"theta={self.theta:g}"]
        default = {"alpha": 1.0, "beta": 0.0, "translation": "cholesky"}
        parts += [f"{k}={self._group[k]!r}" for k, v in default.items() if self._group[k] != v]
        return ", ".join(parts)
