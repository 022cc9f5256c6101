"""Networks by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from spdnorm.models import euclidean
from spdnorm.models.eegspdnet import EEGSPDNet
from spdnorm.models.rresnet import RResNet
from spdnorm.models.spdnet import SPDNet

_models: dict[str, Callable[..., nn.Module]] = {
    # On matrices: (dims, n_outputs, ...)
    "spdnet": SPDNet,
    "rresnet": RResNet,
    # On signals: (n_chans, n_outputs, n_times, ...)
    "eegspdnet": EEGSPDNet,
    "matt": euclidean.matt,
    "eegnet": euclidean.eegnet,
    "shallowconvnet": euclidean.shallow_conv_net,
    "sccnet": euclidean.sccnet,
    "eeg-tcnet": euclidean.eeg_tcnet,
    "fbcnet": euclidean.fbcnet,
    "tcnet-fusion": euclidean.TCNetFusion,
    "mbeeg-se": euclidean.MBEEGSE,
}


def names() -> list[str]:
    """Names that :func:`get` knows.

    Examples
    --------
    >>> from spdnorm.models import names
    >>> {"eegspdnet", "rresnet", "spdnet"} <= set(names())
    True
    """
    return sorted(_models)


def register(name: str, factory: Callable[..., nn.Module]) -> None:
    """Make a network available by name; a name can be taken once.

    Examples
    --------
    >>> from spdnorm.models import SPDNet, get, register
    >>> register("my-network", SPDNet)
    >>> type(get("my-network", dims=(8, 5), n_outputs=3)).__name__
    'SPDNet'
    """
    if name in _models:
        raise ValueError(f"model {name!r} is registered already: choose another name than {', '.join(names())}")
    _models[name] = factory


def get(name: str, **options: Any) -> nn.Module:
    """A network by name.

    Parameters
    ----------
    name : str
        On matrices, with ``dims`` and ``n_outputs``: ``spdnet``, ``rresnet``. On signals, with ``n_chans``,
        ``n_outputs`` and ``n_times``: ``eegspdnet``, ``matt``, ``eegnet``, ``shallowconvnet``, ``sccnet``,
        ``eeg-tcnet``, ``fbcnet``, ``tcnet-fusion``, ``mbeeg-se``; or a registered one.
    **options
        Handed to the network, such as ``norm="gbw", norm_options={"theta": 0.5}``.

    Examples
    --------
    >>> from spdnorm.models import get
    >>> get("spdnet", dims=(8, 5), n_outputs=3, norm="gbw").dims
    (8, 5)
    """
    if name not in _models:
        raise ValueError(f"unknown model {name!r}: choose one of {', '.join(names())}")
    try:
        return _models[name](**options)
    except TypeError as error:
        raise TypeError(f"model {name!r} cannot take these options: {error}") from error
