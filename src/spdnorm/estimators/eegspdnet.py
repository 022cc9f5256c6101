"""EEGSPDNet as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import nn

from spdnorm.estimators.base import NetworkClassifier
from spdnorm.estimators.validation import to_signals, torch_dtype
from spdnorm.models import EEGSPDNet


class EEGSPDNetClassifier(NetworkClassifier):
    """Classify signals with the paper's EEG network and any normalisation.

    Takes signals (N, channels, times), of any length in prediction. A table (N, times) is taken as one channel.

    Parameters
    ----------
    dims : sequence of int
        SPDNet's architecture after the convolutions; the paper's (15, 12).
    norm, norm_options
        Normalisation after each BiMap, see :class:`spdnorm.models.SPDNet`.
    spatial_filters, kernel_size : int
        Of the convolutions; a kernel longer than the signal is cut to it.
    epsilon : float
        Added to the covariance's diagonal.
    standardize : bool
        Divide signals by the standard deviation of all of fit's: EEG in volts would vanish beside ``epsilon``.
    threshold, vectorize
        Of ReEig and LogEig.
    optimizer : str
        A name of :func:`spdnorm.optim.get`: ``"torch-adam"`` and other ones of torch for parametrised weights,
        ``"adam"``, ``"amsgrad"``, ``"sgd"`` for descent on the manifolds.
    lr, weight_decay, batch_size, max_epochs : float, float, int, int
        Of the training.
    early_stopping : bool
        Hold ``validation_fraction`` of the data back, stop after ``patience`` epochs without a lower loss on it, and
        keep the best network.
    validation_fraction, patience : float, int
    device, dtype : str
        Where and in which precision, as ``"cuda"`` and ``"float32"``.
    random_state : int, RandomState or None
        Seed of the weights, of the batches and of the split.
    progress_bar : bool
        Show one.
    verbose : int
        1 prints a line each epoch.

    Attributes
    ----------
    classes_ : ndarray
    module_ : torch.nn.Module
        The trained network.
    history_ : list of dict
        Losses and times, one entry an epoch.
    n_iter_ : int
        Epochs done.
    n_features_in_ : int

    Examples
    --------
    >>> from spdnorm.datasets import make_ssvep
    >>> from spdnorm.estimators import EEGSPDNetClassifier
    >>> eeg = make_ssvep(n_subjects=1, n_sessions=1, trials_per_class=2)
    >>> model = EEGSPDNetClassifier(max_epochs=2, random_state=0).fit(eeg.x, eeg.y)
    >>> model.predict(eeg.x).shape == eeg.y.shape
    True
    """

    def __init__(
        self,
        dims: Sequence[int] = (15, 12),
        *,
        norm: str | Callable[..., nn.Module] | Sequence[Any] | None = "gbw",
        norm_options: Mapping[str, Any] | Sequence[Any] | None = None,
        spatial_filters: int = 125,
        kernel_size: int = 36,
        epsilon: float = 1e-5,
        standardize: bool = True,
        threshold: float = 1e-4,
        vectorize: str = "half",
        optimizer: str = "torch-adam",
        lr: float = 2.5e-3,
        weight_decay: float = 0.0,
        batch_size: int = 30,
        max_epochs: int = 100,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        patience: int = 20,
        device: str = "cpu",
        dtype: str = "float64",
        random_state: Any = None,
        progress_bar: bool = False,
        verbose: int = 0,
    ) -> None:
        self.dims = dims
        self.norm = norm
        self.norm_options = norm_options
        self.spatial_filters = spatial_filters
        self.kernel_size = kernel_size
        self.epsilon = epsilon
        self.standardize = standardize
        self.threshold = threshold
        self.vectorize = vectorize
        self.optimizer = optimizer
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.device = device
        self.dtype = dtype
        self.random_state = random_state
        self.progress_bar = progress_bar
        self.verbose = verbose

    def _prepare(self, x: np.ndarray, *, reset: bool) -> np.ndarray:
        x = to_signals(x)
        if reset:
            self.n_chans_, self.n_times_ = x.shape[1:]
            deviation = float(x.std()) if self.standardize else 1.0
            self.scale_ = deviation if deviation > 0 else 1.0
        elif x.shape[1] != self.n_chans_:
            raise ValueError(f"`X` must have {self.n_chans_} channels as in fit, got {x.shape[1]}")
        return x / self.scale_

    def _network(self) -> tuple[type[nn.Module], dict[str, Any]]:
        return EEGSPDNet, {
            "n_chans": self.n_chans_,
            "n_outputs": len(self.classes_),
            "n_times": self.n_times_,
            "dims": self.dims,
            "norm": self.norm,
            "norm_options": self.norm_options,
            "spatial_filters": self.spatial_filters,
            "kernel_size": min(self.kernel_size, self.n_times_),
            "epsilon": self.epsilon,
            "threshold": self.threshold,
            "vectorize": self.vectorize,
            "parametrized": self.optimizer.startswith("torch-"),
            "dtype": torch_dtype(self.dtype),
        }
