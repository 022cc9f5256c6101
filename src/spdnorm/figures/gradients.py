"""Gradient responses: which channels and times a network's decision rests on (Pan et al. 2022, MAtt, Sec. 4.4)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .errors import FigureError

__all__ = ["gradient_responses"]

#: Samples at a time: bounds memory, and has no part in the result.
CHUNK = 128


def gradient_responses(model: nn.Module, x: Tensor, y: Tensor, *, n_classes: int) -> Tensor:
    """Return the mean absolute gradient of each class' score with respect to its own samples.

    Parameters
    ----------
    model : Module
        From signals to scores (logits); used in evaluation mode, in which samples do not influence one another.
    x : Tensor, shape (N, C, T)
    y : Tensor of int64, shape (N,)
    n_classes : int

    Returns
    -------
    Tensor, shape (n_classes, C, T)
        In score per unit of the signal. The score is the true class' logit, before any softmax.

    Examples
    --------
    >>> from spdnorm.models import EEGSPDNet
    >>> model = EEGSPDNet(n_chans=4, n_outputs=2, n_times=60)
    >>> x, y = torch.randn(6, 4, 60), torch.tensor([0, 1, 0, 1, 0, 1])
    >>> gradient_responses(model, x, y, n_classes=2).shape
    torch.Size([2, 4, 60])
    """
    counts = torch.bincount(y, minlength=n_classes)
    if len(counts) > n_classes or bool((counts == 0).any()):
        raise FigureError(f"`y` must hold every class of 0 to {n_classes - 1} and no other; it has {counts.tolist()}")
    was_training = model.training
    model.eval()
    total = torch.zeros(n_classes, *x.shape[1:], dtype=torch.float64, device=x.device)
    for start in range(0, len(x), CHUNK):
        signals = x[start : start + CHUNK].detach().requires_grad_()
        labels = y[start : start + CHUNK]
        scores = model(signals).gather(1, labels[:, None]).sum()
        (gradient,) = torch.autograd.grad(scores, signals)
        total.index_add_(0, labels, gradient.abs().to(total.dtype))
    model.train(was_training)
    return total / counts[:, None, None].to(total.dtype)
