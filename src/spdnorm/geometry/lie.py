"""Lie-group structures on SPD matrices: the translations that LieBN and ManifoldNorm move data by.

Three groups, each with a metric that is invariant under it (Chen et al. 2024, Sec. 5; Lin 2019; Arsigny et al. 2007):

- ``aim``: X o Y = L_X Y L_X^T with the Cholesky factor L_X, under which the affine-invariant metric is
  left-invariant. The translation by X^1/2 Y X^1/2 is no group operation, but it is an isometry of the same metric
  that moves I to X: it is ``kind="eigen"``, the one of Brooks et al. (2019) and Kobler et al. (2022). The two
  differ by a rotation.
- ``lem``: X o Y = exp(log X + log Y).
- ``lcm``: addition of log-Cholesky coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from torch import Tensor

from spdnorm.geometry.affine_invariant import AffineInvariant
from spdnorm.geometry.base import Metric
from spdnorm.geometry.log_cholesky import LogCholesky
from spdnorm.geometry.log_euclidean import LogEuclidean
from spdnorm.geometry.power import PowerDeformed
from spdnorm.geometry.pullback import Pullback
from spdnorm.linalg import cholesky, congruence, solve_congruence, sqrt_and_inverse


class Translation(ABC):
    """Isometries that move the identity to a point and back.

    Examples
    --------
    >>> from spdnorm.geometry import LogEuclidean, random_spd, translation
    >>> a, x = random_spd(3, 2)
    >>> group = translation(LogEuclidean())
    >>> torch.allclose(group.unmove(a, group.move(a, x)), x)
    True
    """

    @abstractmethod
    def move(self, a: Tensor, x: Tensor) -> Tensor:
        """Carry ``x`` by the translation that takes I to ``a``."""

    @abstractmethod
    def unmove(self, a: Tensor, x: Tensor) -> Tensor:
        """Carry ``x`` by the translation that takes ``a`` to I."""


class CholeskyTranslation(Translation):
    """L_a X L_a^T: left translation of the group ``aim``."""

    def move(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return congruence(cholesky(a), x)

    def unmove(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return solve_congruence(cholesky(a), x)


class EigenTranslation(Translation):
    """A^1/2 X A^1/2: the parallel transport of the affine-invariant metric between I and A, lifted to points."""

    def move(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return congruence(sqrt_and_inverse(a)[0], x)

    def unmove(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return congruence(sqrt_and_inverse(a)[1], x)


class ChartTranslation(Translation):
    """Addition in the coordinates of a flat metric (groups ``lem`` and ``lcm``)."""

    def __init__(self, metric: Pullback) -> None:
        self.chart = metric.chart

    def move(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return self.chart.inverse(self.chart.forward(a) + self.chart.forward(x))

    def unmove(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return self.chart.inverse(self.chart.forward(x) - self.chart.forward(a))


class DeformedTranslation(Translation):
    """The translation of the power-deformed group: X^theta, moved, and back."""

    def __init__(self, inner: Translation, metric: PowerDeformed) -> None:
        self.inner, self.chart = inner, metric.chart

    def move(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return self.chart.inverse(self.inner.move(self.chart.forward(a), self.chart.forward(x)))

    def unmove(self, a: Tensor, x: Tensor) -> Tensor:  # noqa: D102
        return self.chart.inverse(self.inner.unmove(self.chart.forward(a), self.chart.forward(x)))


def translation(metric: Metric, *, kind: Literal["cholesky", "eigen"] = "cholesky") -> Translation:
    """The translation that goes with a metric.

    Parameters
    ----------
    metric : AffineInvariant, LogEuclidean, LogCholesky, or PowerDeformed of one of them
    kind : "cholesky" or "eigen"
        For the affine-invariant metric only: left translation of the Cholesky group, or by square roots.

    Examples
    --------
    >>> from spdnorm.geometry import AffineInvariant, translation
    >>> translation(AffineInvariant()).move(4 * torch.eye(2), torch.eye(2))  # L X L^T
    tensor([[4., 0.],
            [0., 4.]])
    """
    if isinstance(metric, PowerDeformed):
        return DeformedTranslation(translation(metric.base, kind=kind), metric)
    if isinstance(metric, AffineInvariant):
        return CholeskyTranslation() if kind == "cholesky" else EigenTranslation()
    if isinstance(metric, LogEuclidean | LogCholesky):
        return ChartTranslation(metric)
    raise TypeError(
        f"{metric!r} has no invariant translation: use AffineInvariant, LogEuclidean, LogCholesky or PowerDeformed "
        "of one of them"
    )
