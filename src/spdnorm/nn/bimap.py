"""Bilinear mapping layer."""

from __future__ import annotations

import torch
from torch import Tensor

from spdnorm.functional.bimap import bimap
from spdnorm.nn.semi_orthogonal import random_semi_orthogonal, register_semi_orthogonal
from spdnorm.nn.versioned import VersionedState


class BiMap(VersionedState):
    """Y = W X W^T with orthonormal rows of W (Huang and Van Gool 2017, Eq. (1)).

    Parameters
    ----------
    in_features, out_features : int
        Sizes n and m <= n of the matrices.
    channels : int, optional
        One W a channel for inputs (..., channels, n, n).
    parametrized : bool
        Keep W orthonormal by a torch parametrisation (any torch optimiser), or as a
        :class:`geoopt.ManifoldParameter` on the Stiefel manifold (the optimisers of :mod:`spdnorm.optim`).

    Shape
    -----
    (..., n, n) -> (..., m, m), with the channel axis before the matrices where ``channels`` is given. ``weight`` is
    (m, n) or (channels, m, n), uniformly random at first.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import BiMap
    >>> layer = BiMap(6, 4, dtype=torch.float64)
    >>> layer(random_spd(6, 10)).shape
    torch.Size([10, 4, 4])
    >>> torch.allclose(layer.weight @ layer.weight.mT, torch.eye(4).double())  # orthonormal rows
    True
    """

    weight: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        channels: int | None = None,
        parametrized: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if not 1 <= out_features <= in_features:
            raise ValueError(
                f"`out_features` must lie in 1..in_features = {in_features}, got {out_features}: more rows cannot be "
                "orthonormal and would give singular matrices"
            )
        self.in_features, self.out_features, self.channels = in_features, out_features, channels
        shape = (out_features, in_features) if channels is None else (channels, out_features, in_features)
        value = random_semi_orthogonal(*shape, device=device, dtype=dtype)
        register_semi_orthogonal(self, "weight", value, parametrized=parametrized)

    def forward(self, x: Tensor) -> Tensor:
        """W X W^T for ``x`` (..., n, n)."""
        return bimap(x, self.weight)

    def extra_repr(self) -> str:
        """Sizes and channels."""
        channels = "" if self.channels is None else f", channels={self.channels}"
        return f"{self.in_features}, {self.out_features}{channels}"
