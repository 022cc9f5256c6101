"""The training loop of the classifiers: skorch, with whole batches sliced from tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback, EarlyStopping
from skorch.dataset import Dataset, ValidSplit
from torch import Tensor, nn
from torch.utils.data import Subset
from tqdm.auto import tqdm

from spdnorm import optim


class Batches:
    """Iterate over batches of a skorch data set of tensors, without looking at one sample at a time.

    Parameters
    ----------
    dataset : skorch Dataset, or a Subset of one
    batch_size : int
    shuffle : bool
        With torch's global generator.
    """

    def __init__(self, dataset: Dataset | Subset, *, batch_size: int, shuffle: bool = False) -> None:
        base: Any = dataset.dataset if isinstance(dataset, Subset) else dataset
        self.x, self.y = base.X, base.y
        rows = dataset.indices if isinstance(dataset, Subset) else range(len(base))
        self.rows = torch.as_tensor(list(rows), device=self.x.device)
        self.batch_size, self.shuffle = batch_size, shuffle

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        rows = self.rows
        if self.shuffle:
            rows = rows[torch.randperm(len(rows)).to(rows.device)]
        for batch in rows.split(self.batch_size):
            # A lone sample at the end has no batch statistics.
            if len(batch) > 1 or not self.shuffle or len(rows) == 1:
                yield self.x[batch], self.y[batch]


class EpochBar(Callback):
    """One progress bar over all epochs, with the last losses."""

    def on_train_begin(self, net: Any, **_: Any) -> None:
        """Draw the bar."""
        self.bar = tqdm(total=net.max_epochs, unit="epoch")

    def on_epoch_end(self, net: Any, **_: Any) -> None:
        """Move on by one."""
        last = net.history[-1]
        self.bar.set_postfix({key: f"{last[key]:.3g}" for key in ("train_loss", "valid_loss") if key in last})
        self.bar.update()

    def on_train_end(self, net: Any, **_: Any) -> None:
        """Leave the bar as it stands."""
        self.bar.close()


class Patience(EarlyStopping):
    """skorch's early stopping, which leaves the loop by an exception of its own instead of a KeyboardInterrupt."""

    class Exhausted(Exception):
        """No improvement for too many epochs."""

    def on_epoch_end(self, net: Any, **options: Any) -> None:
        """Compare the epoch with the best one."""
        try:
            super().on_epoch_end(net, **options)
        except KeyboardInterrupt:
            raise self.Exhausted from None


class Net(NeuralNetClassifier):
    """skorch's classifier with an optimiser of :mod:`spdnorm.optim`, for a module that is built already."""

    def __init__(self, module: nn.Module, *, optimizer_name: str, weight_decay: float, **options: Any) -> None:
        super().__init__(module, **options)
        self.optimizer_name, self.weight_decay = optimizer_name, weight_decay

    def initialize_optimizer(self, triggered_directly: Any = None) -> Net:
        """The optimiser of this name, weight decay falling on Euclidean weights only."""
        self.optimizer_ = optim.get(self.optimizer_name, self.module_, lr=self.lr, weight_decay=self.weight_decay)
        return self


def fit(
    module: nn.Module,
    x: Tensor,
    y: Tensor,
    *,
    optimizer: str,
    lr: float,
    weight_decay: float,
    batch_size: int,
    max_epochs: int,
    early_stopping: bool,
    validation_fraction: float,
    patience: int,
    progress_bar: bool,
    verbose: int,
    device: str,
    seed: int,
) -> list[dict[str, Any]]:
    """Train ``module`` in place and return the history, one entry an epoch."""
    callbacks: list[Any] = []
    split = None
    if early_stopping:
        split = ValidSplit(validation_fraction, stratified=True, random_state=seed)
        callbacks.append(Patience(patience=patience, load_best=True))
    if progress_bar:
        callbacks.append(EpochBar())
    net = Net(
        module,
        optimizer_name=optimizer,
        weight_decay=weight_decay,
        criterion=nn.CrossEntropyLoss,
        lr=lr,
        max_epochs=max_epochs,
        batch_size=batch_size,
        iterator_train=Batches,
        iterator_train__shuffle=True,
        iterator_valid=Batches,
        train_split=split,
        callbacks=callbacks,
        device=device,
        verbose=verbose,
        classes=list(range(int(y.max()) + 1)),
    )
    net.initialize()
    net.notify("on_train_begin", X=x, y=y)
    # Not net.fit, which takes Ctrl-C for the end of the training: a grid search would go on with the next fold.
    with suppress(Patience.Exhausted):
        net.fit_loop(x, y)
    net.notify("on_train_end", X=x, y=y)
    return [{key: value for key, value in row.items() if key != "batches"} for row in net.history]
