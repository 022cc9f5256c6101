"""The normalisations without a network, as a scikit-learn transformer."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from spdnorm.estimators.validation import as_tensor, to_matrices, torch_dtype, validated
from spdnorm.models.norms import make_norm


class RiemannianBatchNormTransformer(TransformerMixin, BaseEstimator):
    """Centre and scale SPD matrices by the mean and variance of the training set, under any metric.

    The layers of :mod:`spdnorm.nn` in evaluation mode, with converged statistics of all of the data, identity bias and
    unit scale: for pyRiemann's pipelines, before tangent space or MDM.

    Parameters
    ----------
    norm : str or callable
        A name that :func:`spdnorm.nn.norm_layer` knows, or a layer's class.
    norm_options : mapping, optional
        Options of the layer, as ``{"theta": 0.5}``.
    target : bool
        Transfer: normalise what is transformed by its own statistics (needing no labels) instead of fit's. Data of a
        domain that fit has seen keep that domain's.
    device, dtype : str

    Attributes
    ----------
    statistics_ : dict
        For each domain (``None`` where none were given) the layer's state: ``running_mean``, ``running_var``, ...
    n_features_in_ : int

    Notes
    -----
    Shape (N, n, n) -> (N, n, n). A plain table (N, d) is embedded as in :class:`SPDNetClassifier`, giving matrices
    (N, d + 1, d + 1). ``fit_transform`` is ``fit`` and ``transform`` one after the other.

    Examples
    --------
    >>> from spdnorm.estimators import RiemannianBatchNormTransformer
    >>> from spdnorm.geometry import random_spd
    >>> x = random_spd(4, 20).numpy()
    >>> RiemannianBatchNormTransformer("gbw", norm_options={"theta": 0.5}).fit(x).transform(x).shape
    (20, 4, 4)
    """

    def __init__(
        self,
        norm: str | Callable[..., nn.Module] = "gbw",
        *,
        norm_options: Mapping[str, Any] | None = None,
        target: bool = False,
        device: str = "cpu",
        dtype: str = "float64",
    ) -> None:
        self.norm = norm
        self.norm_options = norm_options
        self.target = target
        self.device = device
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None, *, domains: Any = None) -> RiemannianBatchNormTransformer:
        """Compute the statistics.

        Parameters
        ----------
        X : array, shape (N, n, n)
        y : ignored
        domains : array, shape (N,), optional
            Subject or session of each matrix: statistics for each.
        """
        x = to_matrices(validated(self, X, reset=True))
        self.input_shape_ = x.shape[1:]
        # Copied: what is fitted stays what it is when parameters are set anew or mutated.
        self._recipe = copy.deepcopy((self.norm, self.norm_options))
        matrices = as_tensor(x, torch_dtype(self.dtype), self.device)
        self.statistics_ = {domain: self._statistics(matrices[rows]) for domain, rows in self._groups(domains, len(x))}
        return self

    def fit_transform(self, X: Any, y: Any = None, *, domains: Any = None) -> np.ndarray:
        """:meth:`fit` and :meth:`transform` with the same ``domains``."""
        return self.fit(X, y, domains=domains).transform(X, domains=domains)

    def transform(self, X: Any, *, domains: Any = None) -> np.ndarray:
        """Normalise.

        Parameters
        ----------
        X : array, shape (N, n, n)
        domains : array, shape (N,), optional
            Subject or session of each matrix.
        """
        check_is_fitted(self, "statistics_")
        x = to_matrices(validated(self, X, reset=False))
        if x.shape[1:] != self.input_shape_:
            raise ValueError(f"`X` must hold matrices of shape {self.input_shape_} as in fit, got {x.shape[1:]}")
        matrices = as_tensor(x, torch_dtype(self.dtype), self.device)
        out = torch.empty_like(matrices)
        layer = self._layer()
        for domain, rows in self._groups(domains, len(x)):
            layer.load_state_dict(self._choose(domain, matrices[rows]))
            with torch.no_grad():
                out[rows] = layer(matrices[rows])
        return out.cpu().numpy()

    def _choose(self, domain: Any, matrices: torch.Tensor) -> dict[str, torch.Tensor]:
        known = domain in self.statistics_
        if self.target and not (known and domain is not None):
            return self._statistics(matrices)
        if not known:
            seen = ", ".join(map(repr, self.statistics_))
            raise ValueError(
                f"no statistics for domain {domain!r} (seen in fit: {seen}): set target=True to use its own"
            )
        return self.statistics_[domain]

    def _layer(self) -> nn.Module:
        channels = self.input_shape_[0] if len(self.input_shape_) == 3 else None
        norm, options = self._recipe
        layer = make_norm(
            norm,
            self.input_shape_[-1],
            options=options,
            channels=channels,
            device=self.device,
            dtype=torch_dtype(self.dtype),
        )
        return layer.eval()

    def _statistics(self, matrices: torch.Tensor) -> dict[str, torch.Tensor]:
        layer = self._layer()
        if not isinstance(layer, nn.Identity):
            if not hasattr(layer, "refit"):
                raise TypeError(f"`norm` must build a layer with a refit method, as those of spdnorm.nn, got {layer}")
            layer.refit(matrices)  # type: ignore[operator]
        return {name: value.cpu() for name, value in layer.state_dict().items()}

    @staticmethod
    def _groups(domains: Any, count: int) -> list[tuple[Any, np.ndarray]]:
        if domains is None:
            return [(None, np.arange(count))]
        labels = np.asarray(domains)
        if labels.shape != (count,):
            raise ValueError(f"`domains` must have shape ({count},), one entry a matrix, got {labels.shape}")
        return [(domain.item(), np.flatnonzero(labels == domain)) for domain in np.unique(labels)]

    def __sklearn_tags__(self) -> Any:
        """Two axes (a table) and three are taken; labels are not looked at."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.target_tags.required = False
        return tags
