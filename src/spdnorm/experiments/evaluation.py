"""Accuracy of a network on a part of the data, per sample and as an average over batches."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from .data import Part

__all__ = ["Evaluation", "evaluate"]

#: Samples at a time: bounds memory, and has no part in the result.
CHUNK = 512


@dataclass(frozen=True)
class Evaluation:
    """Mean loss, accuracy per sample, and the mean over batches of each batch's accuracy (all in 0..1)."""

    loss: float
    accuracy: float
    batch_accuracy: float


@torch.no_grad()
def evaluate(model: nn.Module, part: Part, *, batch_size: int) -> Evaluation:
    """Evaluate ``model`` in evaluation mode; its mode is put back after.

    The average over batches weighs the samples of a short last batch more: some published scripts report it.
    """
    was_training = model.training
    model.eval()
    losses, hits = [], []
    for start in range(0, len(part), CHUNK):
        which = slice(start, start + CHUNK)
        logits, y = model(*part.inputs(which)), part.y[which]
        losses.append(cross_entropy(logits, y, reduction="sum"))
        hits.append(logits.argmax(-1) == y)
    model.train(was_training)
    hit = torch.cat(hits).to(torch.float64)
    batches = torch.stack([batch.mean() for batch in hit.split(batch_size)])
    loss = torch.stack(losses).sum() / len(part)
    return Evaluation(loss=loss.item(), accuracy=hit.mean().item(), batch_accuracy=batches.mean().item())
