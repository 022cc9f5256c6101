"""From a model configuration to a network that fits the data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn

from .. import models
from ..nn import DomainBatchNorm, norm_layer
from .config import ModelConfig
from .data import TaskData
from .errors import ConfigError

__all__ = ["PRECISIONS", "make_model"]

#: train.dtype -> precision of signals and convolutions, and of matrices.
PRECISIONS = {
    "float64": (torch.float64, torch.float64),
    "float32": (torch.float32, torch.float32),
    "mixed": (torch.float32, torch.float64),
}


def make_model(config: ModelConfig, task: TaskData, *, dtype: str) -> nn.Module:
    """Build a network by name for samples and classes as ``task`` has them.

    Parameters
    ----------
    config : ModelConfig
        Name, normalisation, options; ``hidden`` stands for ``dims`` without the size of the input.
    task : TaskData
        Gives the number of classes and the shape of a sample.
    dtype : str
        A key of :data:`PRECISIONS`.
    """
    signals, matrices = PRECISIONS[dtype]
    shape = task.sample_shape
    options: dict[str, Any] = {"n_outputs": task.n_classes}
    if task.holds_signals:
        options |= {"n_chans": shape[0], "n_times": shape[1]}
    given = dict(config.options)
    if "hidden" in given:
        # A recipe for several data sets cannot know the size of their matrices.
        given["dims"] = (shape[-1], *given.pop("hidden"))
    if config.norm != "none":
        norm = partial(_domain_norm, config.norm, task.n_domains) if task.n_domains else config.norm
        options |= {"norm": norm, "norm_options": config.norm_options}
    if matrices != signals:
        options["spd_dtype"] = matrices
    try:
        with _default_dtype(signals):
            return models.get(config.name, **{**options, **given})
    except (TypeError, ValueError) as error:
        held = "signals (channels, times)" if task.holds_signals else "matrices (n, n)"
        raise ConfigError(f"{error}. The samples of this data set are {held} of shape {shape}") from error


def _domain_norm(name: str, num_domains: int, num_features: int, **options: Any) -> DomainBatchNorm:
    return DomainBatchNorm(norm_layer(name, num_features, **options), num_domains)  # type: ignore[arg-type]


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    # Every network takes it, those of other libraries too, and none has to be converted after.
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
