"""Riemannian residual network (Katsman et al. 2023) with any normalisation after its bilinear map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from spdnorm.models.norms import NormSpec, apply_norm, make_norm
from spdnorm.nn.bimap import BiMap
from spdnorm.nn.logeig import LogEig
from spdnorm.nn.residual import RiemannianResidual
from spdnorm.nn.versioned import VersionedState


class RResNet(VersionedState):
    """BiMap, norm, Riemannian residual steps, LogEig, a linear layer.

    Parameters
    ----------
    dims : sequence of int
        (93, 30) for HDM05, (75, 30) for NTU; (75,) leaves the BiMap out.
    n_outputs : int
        Classes.
    norm, norm_options
        Normalisation after the BiMap, as in :class:`SPDNet`.
    metric : "aim" or "lem"
        Of the exponential.
    n_residuals : int
        Residual steps one after another.
    residual_options : mapping, optional
        For :class:`spdnorm.nn.RiemannianResidual`: ``frame``, ``normalize``, ``hidden``, ...
    threshold : float
        Least eigenvalue before a residual step and the logarithm.
    vectorize : "half" or "full"
        As in :class:`spdnorm.nn.LogEig`.
    parametrized : bool
        See :class:`spdnorm.nn.BiMap`; a norm given by name follows, its SPD parameters then being geoopt's, under the
        Bures-Wasserstein metric for ``"gbw"`` and ``"bw"``, the affine-invariant one for the others.

    Shape
    -----
    (N, d_0, d_0) -> logits (N, n_outputs)

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.models import RResNet
    >>> RResNet((8, 5), 3, norm="bw", dtype=torch.float64)(random_spd(8, 10)).shape
    torch.Size([10, 3])
    """

    def __init__(
        self,
        dims: Sequence[int],
        n_outputs: int,
        *,
        norm: NormSpec = "none",
        norm_options: Mapping[str, Any] | None = None,
        metric: str = "aim",
        n_residuals: int = 1,
        residual_options: Mapping[str, Any] | None = None,
        threshold: float = 1e-6,
        vectorize: str = "half",
        parametrized: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if len(dims) not in (1, 2):
            raise ValueError(f"`dims` must be (d_0, d_1), or (d_0,) for no BiMap, got {tuple(dims)}")
        if vectorize == "none":
            raise ValueError("`vectorize` must be 'half' or 'full': the linear layer takes vectors")
        self.dims, self.n_outputs = tuple(dims), n_outputs
        size = dims[-1]
        self.bimap: nn.Module = nn.Identity()
        if len(dims) == 2:
            self.bimap = BiMap(dims[0], size, parametrized=parametrized, device=device, dtype=dtype)
        self.norm = make_norm(norm, size, options=norm_options, parametrized=parametrized, device=device, dtype=dtype)
        options: dict[str, Any] = {"threshold": threshold, "parametrized": parametrized, **(residual_options or {})}
        self.residuals = nn.Sequential(
            *(
                RiemannianResidual(size, metric=metric, device=device, dtype=dtype, **options)
                for _ in range(n_residuals)
            )
        )
        self.logeig = LogEig(vectorize=vectorize, threshold=threshold)
        self.head = nn.Linear(self.logeig.out_features(size), n_outputs, device=device, dtype=dtype)

    def features(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """The vectors (N, d) that the linear layer sees."""
        return self.logeig(self.residuals(apply_norm(self.norm, self.bimap(x), domains)))

    def forward(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """Logits of SPD matrices; ``domains`` (N,) for domain-specific normalisation."""
        return self.head(self.features(x, domains))
