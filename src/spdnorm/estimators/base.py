"""What the two classifiers share: labels, seeds, training, prediction, pickling."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import nn

from spdnorm.estimators.training import fit
from spdnorm.estimators.validation import as_tensor, torch_dtype, validated

_STATE = "_module_state"


class NetworkClassifier(ClassifierMixin, BaseEstimator):
    """A classifier around a network; a subclass says how the network is built and what it takes."""

    #: Samples at a time in prediction.
    _prediction_batch = 512

    module_: nn.Module
    device: str
    dtype: str

    @abstractmethod
    def _network(self) -> tuple[type[nn.Module], dict[str, Any]]:
        """Class and arguments of the network for the data seen in fit."""

    @abstractmethod
    def _prepare(self, x: np.ndarray, *, reset: bool) -> np.ndarray:
        """Bring validated data into the network's shape; in fit (``reset``), remember it."""

    def fit(self, X: Any, y: Any) -> NetworkClassifier:
        """Train the network.

        Parameters
        ----------
        X : array
            See the class.
        y : array, shape (N,)
            Labels of any kind.
        """
        X, y = validated(self, X, y, reset=True)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._check_options()
        dtype, device = torch_dtype(self.dtype), torch.device(self.device)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        x = as_tensor(self._prepare(X, reset=True), dtype, device)
        # Copied: what is fitted stays what it is when parameters are set anew or mutated.
        self._recipe = copy.deepcopy(self._network())
        # Only torch's generators are drawn from, and they are put back.
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            self.module_ = self._build(device)
            self.history_ = fit(
                self.module_,
                x,
                torch.as_tensor(labels, dtype=torch.long, device=device),
                optimizer=self.optimizer,
                lr=self.lr,
                weight_decay=self.weight_decay,
                batch_size=self.batch_size,
                max_epochs=self.max_epochs,
                early_stopping=self.early_stopping,
                validation_fraction=self.validation_fraction,
                patience=self.patience,
                progress_bar=self.progress_bar,
                verbose=self.verbose,
                device=self.device,
                seed=seed,
            )
        self.module_.eval()
        self.n_iter_ = len(self.history_)
        return self

    def _check_options(self) -> None:
        for name, fits, needed in (
            ("batch_size", self.batch_size >= 2, "2 or more (a lone sample has no batch statistics)"),
            ("max_epochs", self.max_epochs >= 0, "0 or more"),
            ("validation_fraction", 0 < self.validation_fraction < 1, "between 0 and 1"),
            ("patience", self.patience >= 1, "1 or more"),
        ):
            if not fits:
                raise ValueError(f"`{name}` must be {needed}, got {getattr(self, name)}")

    def _build(self, device: torch.device | str) -> nn.Module:
        kind, options = self._recipe
        return kind(**options).to(device)

    def _logits(self, X: Any) -> np.ndarray:
        """Logits, shape (N, n_classes)."""
        check_is_fitted(self, "classes_")
        X = self._prepare(validated(self, X, reset=False), reset=False)
        weight = next(self.module_.parameters())
        x = as_tensor(X, weight.dtype, weight.device)
        with torch.no_grad():
            logits = torch.cat([self.module_(part) for part in x.split(self._prediction_batch)])
        return logits.cpu().numpy()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes in the order of ``classes_``, shape (N, n_classes)."""
        return torch.softmax(torch.as_tensor(self._logits(X), dtype=torch.float64), dim=1).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """Most probable labels, shape (N,)."""
        chosen = self._logits(X).argmax(axis=1)
        return self.classes_[chosen]

    def __sklearn_tags__(self) -> Any:
        """Two axes (a table) and three are taken."""
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    # torch cannot pickle modules under parametrisations: the network travels as its state.
    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        module = state.pop("module_", None)
        if module is not None:
            state[_STATE] = {key: value.cpu() for key, value in module.state_dict().items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        weights = state.pop(_STATE, None) if isinstance(state, dict) else None
        super().__setstate__(state)
        if weights is not None:
            lost = torch.device(self.device).type == "cuda" and not torch.cuda.is_available()
            with torch.random.fork_rng(devices=[]):
                self.module_ = self._build("cpu" if lost else self.device)
            self.module_.load_state_dict(weights)
            self.module_.eval()
