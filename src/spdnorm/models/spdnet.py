"""SPDNet (Huang and Van Gool 2017) with any normalisation after any bilinear map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from spdnorm.models.norms import NormSpec, apply_norm, make_norms
from spdnorm.nn.bimap import BiMap
from spdnorm.nn.logeig import LogEig
from spdnorm.nn.reeig import ReEig
from spdnorm.nn.versioned import VersionedState


class SPDBlock(nn.Module):
    """BiMap, normalisation, rectification.

    Parameters
    ----------
    bimap, norm : nn.Module
    rectify : nn.Module
        ReEig, or the identity in a network's last block, whose LogEig rectifies.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.models import SPDBlock
    >>> from spdnorm.nn import BiMap, BWBatchNorm, ReEig
    >>> block = SPDBlock(BiMap(6, 4), BWBatchNorm(4), ReEig())
    >>> block(random_spd(6, 10, dtype=torch.float32)).shape
    torch.Size([10, 4, 4])
    """

    def __init__(self, bimap: nn.Module, norm: nn.Module, rectify: nn.Module) -> None:
        super().__init__()
        self.bimap, self.norm, self.rectify = bimap, norm, rectify

    def forward(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """SPD (..., n, n) -> SPD (..., m, m)."""
        return self.rectify(apply_norm(self.norm, self.bimap(x), domains))


class SPDNet(VersionedState):
    """SPDNet of any architecture {d_0, ..., d_L}: BiMap, norm, ReEig, repeated; LogEig; a linear layer.

    Parameters
    ----------
    dims : sequence of int
        d_0 the size of the input, then that after each BiMap.
    n_outputs : int
        Classes.
    norm : str, callable, None, or a list of these
        Normalisation after each BiMap: a name that :func:`spdnorm.nn.norm_layer` knows (``"gbw"``, ``"spd"``, ...), a
        class or function of ``num_features``, or one entry for each BiMap.
    norm_options : mapping, or a list of mappings
        Options of the normalisation, such as ``{"theta": 0.5}``.
    channels : int, optional
        Inputs (N, channels, d_0, d_0), a BiMap and statistics for each channel.
    threshold : float
        Of ReEig. The last ReEig and LogEig share one eigendecomposition.
    vectorize : "half" or "full"
        Layout of the logarithm, see :class:`spdnorm.nn.LogEig`.
    dropout : float
        Share of the vector's entries that the linear layer does not see in training.
    parametrized : bool
        See :class:`spdnorm.nn.BiMap`; a norm given by name follows, its SPD parameters then being geoopt's, under the
        Bures-Wasserstein metric for ``"gbw"`` and ``"bw"``, the affine-invariant one for the others.

    Shape
    -----
    (N, d_0, d_0) or (N, channels, d_0, d_0) -> logits (N, n_outputs)

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.models import SPDNet
    >>> model = SPDNet((8, 5), 3, norm="gbw", norm_options={"theta": 0.5}, dtype=torch.float64)
    >>> model(random_spd(8, 10)).shape
    torch.Size([10, 3])
    """

    def __init__(
        self,
        dims: Sequence[int],
        n_outputs: int,
        *,
        norm: NormSpec | Sequence[NormSpec] = "none",
        norm_options: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
        channels: int | None = None,
        threshold: float = 1e-4,
        vectorize: str = "half",
        dropout: float = 0.0,
        parametrized: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if len(dims) < 2:
            raise ValueError(f"`dims` must have two sizes or more, as (15, 12), got {tuple(dims)}")
        if vectorize == "none":
            raise ValueError("`vectorize` must be 'half' or 'full': the linear layer takes vectors")
        self.dims, self.n_outputs = tuple(dims), n_outputs
        norms = make_norms(
            norm,
            dims[1:],
            options=norm_options,
            channels=channels,
            parametrized=parametrized,
            device=device,
            dtype=dtype,
        )
        self.blocks = nn.ModuleList()
        for i, layer in enumerate(norms):
            bimap = BiMap(
                dims[i], dims[i + 1], channels=channels, parametrized=parametrized, device=device, dtype=dtype
            )
            last = i == len(norms) - 1
            self.blocks.append(SPDBlock(bimap, layer, nn.Identity() if last else ReEig(threshold)))
        self.logeig = LogEig(vectorize=vectorize, threshold=threshold)
        self.dropout = nn.Dropout(dropout)
        width = self.logeig.out_features(dims[-1]) * (channels or 1)
        self.head = nn.Linear(width, n_outputs, device=device, dtype=dtype)

    def features(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """The vectors (N, d) that the linear layer sees."""
        for block in self.blocks:
            x = block(x, domains)
        return self.logeig(x).flatten(1)

    def forward(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """Logits of SPD matrices; ``domains`` (N,) for domain-specific normalisation."""
        return self.head(self.dropout(self.features(x, domains)))
