"""Normalisation layers by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from spdnorm.nn.norm.gbw import BWBatchNorm, GBWBatchNorm
from spdnorm.nn.norm.lie import LieBatchNorm
from spdnorm.nn.norm.manifold import ManifoldNorm
from spdnorm.nn.norm.spd import SPDBatchNorm, SPDMomentumBatchNorm

_layers: dict[str, Callable[..., nn.Module]] = {
    "gbw": GBWBatchNorm,
    "bw": BWBatchNorm,
    "spd": SPDBatchNorm,
    "spdm": SPDMomentumBatchNorm,
    "manifold": ManifoldNorm,
    "lie": LieBatchNorm,
}


def norm_names() -> list[str]:
    """Names that :func:`norm_layer` knows, ``none`` among them.

    Examples
    --------
    >>> from spdnorm.nn import norm_names
    >>> {"bw", "gbw", "lie", "manifold", "none", "spd", "spdm"} <= set(norm_names())
    True
    """
    return ["none", *sorted(_layers)]


def register_norm(name: str, factory: Callable[..., nn.Module]) -> None:
    """Make a normalisation available by name; ``factory(num_features, **options)`` returns the layer.

    Examples
    --------
    >>> from spdnorm.nn import BWBatchNorm, norm_layer, register_norm
    >>> register_norm("my-norm", BWBatchNorm)
    >>> type(norm_layer("my-norm", 4)).__name__
    'ParametrizedBWBatchNorm'
    """
    if name in norm_names():
        raise ValueError(f"normalisation {name!r} is registered already")
    _layers[name] = factory


def norm_layer(
    name: str | None,
    num_features: int,
    *,
    channels: int | None = None,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> nn.Module:
    """A normalisation layer by name.

    Parameters
    ----------
    name : str or None
        ``gbw`` (GBWBN), ``bw`` (BWBN), ``spd`` (SPDBN), ``spdm`` (SPDMBN), ``manifold`` (ManifoldNorm), ``lie``
        (LieBN), a registered one, or ``none`` / None for the identity.
    num_features : int
        Matrix size.
    channels : int, optional
    device, dtype
        As in torch.
    **options
        Handed to the layer, e.g. ``theta=0.5``.

    Examples
    --------
    >>> from spdnorm.nn import norm_layer
    >>> norm_layer("gbw", 12, theta=0.5)
    ParametrizedGBWBatchNorm(
      12, momentum=0.1, eps=1e-05, affine=True, theta=0.5
      (parametrizations): ModuleDict(
        (bias): ParametrizationList(
          (0): SPDExponential()
        )
        (metric): ParametrizationList(
          (0): SPDExponential()
        )
      )
    )
    """
    if name is None or name == "none":
        return nn.Identity()
    if name not in _layers:
        raise ValueError(f"unknown normalisation {name!r}: choose one of {', '.join(norm_names())}")
    try:
        return _layers[name](num_features, channels=channels, device=device, dtype=dtype, **options)
    except TypeError as error:
        raise TypeError(f"normalisation {name!r} cannot take these options: {error}") from error
