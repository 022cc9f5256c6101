"""SPDNet as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from torch import nn

from spdnorm.estimators.base import NetworkClassifier
from spdnorm.estimators.validation import to_matrices, torch_dtype
from spdnorm.models import SPDNet


class SPDNetClassifier(NetworkClassifier):
    """Classify SPD matrices with SPDNet and any normalisation.

    Takes matrices (N, n, n), or (N, channels, n, n). A plain table (N, d) is taken as well, each row embedded as the
    SPD matrix of the unit Gaussian about it (Calvo and Oller 1990).

    Parameters
    ----------
    hidden_dims : sequence of int, optional
        Sizes after each BiMap; by default one, four fifths of the input's.
    norm, norm_options
        Normalisation after each BiMap, see :class:`spdnorm.models.SPDNet`.
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
    >>> import numpy as np
    >>> from spdnorm.estimators import SPDNetClassifier
    >>> X = np.eye(4) * np.random.default_rng(0).uniform(0.5, 2, (40, 1, 1))
    >>> y = X[:, 0, 0] > 1
    >>> float(SPDNetClassifier(norm="gbw", max_epochs=40, lr=0.02, random_state=0).fit(X, y).score(X, y)) > 0.8
    True
    """

    def __init__(
        self,
        hidden_dims: Sequence[int] | None = None,
        *,
        norm: str | Callable[..., nn.Module] | Sequence[Any] | None = "gbw",
        norm_options: Mapping[str, Any] | Sequence[Any] | None = None,
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
        self.hidden_dims = hidden_dims
        self.norm = norm
        self.norm_options = norm_options
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
        x = to_matrices(x)
        if reset:
            self.input_shape_ = x.shape[1:]
        elif x.shape[1:] != self.input_shape_:
            raise ValueError(f"`X` must hold matrices of shape {self.input_shape_} as in fit, got {x.shape[1:]}")
        return x

    def _network(self) -> tuple[type[nn.Module], dict[str, Any]]:
        size = self.input_shape_[-1]
        hidden = (max(1, (4 * size) // 5),) if self.hidden_dims is None else tuple(self.hidden_dims)
        return SPDNet, {
            "dims": (size, *hidden),
            "n_outputs": len(self.classes_),
            "norm": self.norm,
            "norm_options": self.norm_options,
            "channels": self.input_shape_[0] if len(self.input_shape_) == 3 else None,
            "threshold": self.threshold,
            "vectorize": self.vectorize,
            "parametrized": self.optimizer.startswith("torch-"),
            "dtype": torch_dtype(self.dtype),
        }
