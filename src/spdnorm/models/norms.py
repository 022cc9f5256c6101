"""How a network's normalisation is named: a registered name, a factory, or one of them for each layer."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from spdnorm.nn import norm_layer
from spdnorm.nn.manifolds import SPDManifold

#: A name of :func:`spdnorm.nn.norm_layer`, a class or function ``f(num_features, **options)``, or None.
NormSpec = str | Callable[..., nn.Module] | None


def make_norm(
    spec: NormSpec,
    num_features: int,
    *,
    options: Mapping[str, Any] | None = None,
    channels: int | None = None,
    parametrized: bool = True,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """One normalisation layer for matrices of this size."""
    options = dict(options or {})
    if spec is None or spec == "none":
        return nn.Identity()
    if isinstance(spec, nn.Module):
        raise TypeError(
            f"`norm` must build a layer for each place, got an instance of {type(spec).__name__}: pass its class or "
            "a function of `num_features`"
        )
    if isinstance(spec, str):
        if not parametrized:
            # The paper descends under the metric that it normalises with.
            options.setdefault("parametrized", False)
            options.setdefault("manifold", SPDManifold("bwm" if spec in ("gbw", "bw") else "aim"))
        return norm_layer(spec, num_features, channels=channels, device=device, dtype=dtype, **options)
    if callable(spec):
        return spec(num_features, **options).to(device=device, dtype=dtype)
    raise TypeError(f"`norm` must be a name, a callable, None or a list of these, got {spec!r}")


def make_norms(
    spec: NormSpec | Sequence[NormSpec],
    sizes: Sequence[int],
    *,
    options: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    channels: int | None = None,
    parametrized: bool = True,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> list[nn.Module]:
    """The normalisations of a network, one for each matrix size in ``sizes``."""
    specs: list[Any] = list(spec) if isinstance(spec, list | tuple) else [spec] * len(sizes)
    each: list[Any] = list(options) if isinstance(options, list | tuple) else [options] * len(sizes)
    for name, given in (("norm", specs), ("norm_options", each)):
        if len(given) != len(sizes):
            raise ValueError(f"`{name}` must have one entry for each of the {len(sizes)} layers, got {len(given)}")
    return [
        make_norm(s, n, options=o, channels=channels, parametrized=parametrized, device=device, dtype=dtype)
        for s, n, o in zip(specs, sizes, each, strict=True)
    ]


# Every module under a torch parametrisation has a class of its own: an unbounded cache would keep them all alive.
@functools.lru_cache(maxsize=128)
def takes_domains(kind: Any) -> bool:
    """Whether a layer of this class is called as ``norm(x, domains)``."""
    return "domains" in inspect.signature(kind.forward).parameters


def apply_norm(norm: nn.Module, x: Tensor, domains: Tensor | None) -> Tensor:
    """Call a normalisation, with the domain of each sample where it asks for it."""
    if not takes_domains(type(norm)):  # type: ignore[arg-type]
        return norm(x)
    if domains is None:
        raise ValueError("`domains` is missing: this network's normalisation needs the domain of each sample")
    return norm(x, domains)
