"""Networks of one row pooled over replicates: probabilities averaged, member by member, from the stored weights."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

import torch
from torch import Tensor

from .building import PRECISIONS, make_model
from .checkpoint import load_checkpoint
from .config import RunConfig
from .data import load_task
from .errors import ExperimentError
from .evaluation import CHUNK
from .rng import deterministic
from .store import RunFolder
from .table import Table

__all__ = ["Pooled", "pool"]


@dataclass(frozen=True, kw_only=True)
class Pooled:
    """Accuracies on the test part in percent, means over members: of the pooled networks, and of one alone."""

    pooled: float
    alone: float
    networks: int


def pool(table: Table, row: str, column: str, *, data_dir: str | None) -> Pooled | None:
    """Pool the finished runs of a cell that saw the same test part; None unless every member has two or more.

    Each network is that of its chosen epoch, so that the test part has no say in the pool either.
    """
    by_member: dict[int, list[str]] = {}
    for place in table.runs(row, column):
        if table.result(place) is not None:
            by_member.setdefault(place.member, []).append(place.hash)
    sizes = {len(hashes) for hashes in by_member.values()}
    if len(sizes) != 1 or sizes == {1}:
        return None
    found = [_member([table.store.by_hash(name) for name in hashes], data_dir) for hashes in by_member.values()]
    return Pooled(pooled=mean(p for p, _ in found), alone=mean(a for _, a in found), networks=sizes.pop())


def _member(folders: list[RunFolder], data_dir: str | None) -> tuple[float, float]:
    """Accuracy of the pool and mean accuracy of its networks."""
    configs = [folder.config() for folder in folders]
    if any(config.data != configs[0].data for config in configs):
        raise ExperimentError("the replicates differ in their data (folds, say): only networks that saw the same pool")
    parts = [_probabilities(folder, config, data_dir) for folder, config in zip(folders, configs, strict=True)]
    y, each = parts[0][0], torch.stack([probabilities for _, probabilities in parts])
    pooled = each.mean(0).argmax(-1).eq(y).double().mean()
    alone = each.argmax(-1).eq(y).double().mean()
    return 100.0 * pooled.item(), 100.0 * alone.item()


@torch.no_grad()
def _probabilities(folder: RunFolder, config: RunConfig, data_dir: str | None) -> tuple[Tensor, Tensor]:
    task = load_task(config.data, data_dir=data_dir, dtype=PRECISIONS[config.train.dtype][0])
    state = load_checkpoint(folder.model_file, config_hash=config.hash)
    if state is None:
        raise ExperimentError(f"{folder.model_file} is not there: a pool needs the weights of its runs")
    with deterministic(threads=1):
        model = make_model(config.model, task, dtype=config.train.dtype).eval()
        model.load_state_dict(state["selected"])
        logits = torch.cat([model(x) for x in task.test.x.split(CHUNK)])
    return task.test.y, logits.double().softmax(-1)
