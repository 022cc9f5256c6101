"""Many small models at once: runs that differ in seed and data alone, trained as one batched program.

Parameters and buffers of all networks are stacked (:func:`torch.func.stack_module_state`) and every step is mapped
over them (:func:`torch.vmap`). Each network sees its own data in its own order, and ends as it would have alone, to
rounding. Each gets its own folder and row, with ``engine`` saying how it was computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from lightning_fabric import Fabric

from . import environment, rng
from .batched_trainer import BatchedTrainer
from .building import PRECISIONS
from .checkpoint import load_checkpoint, save_checkpoint
from .config import RunConfig, canonical
from .data import TaskData, load_task
from .distributed import make_fabric
from .errors import ExperimentError
from .execution import Execution
from .files import write_json
from .logs import CsvLog, EpochLog, ProgressLog, TensorBoardLog, shows_progress
from .run import make_result, make_trainer
from .store import Store

__all__ = ["batches", "groups_of", "run_batch", "why_not"]


def why_not(config: RunConfig) -> str | None:
    """Return why a run cannot be one of a batch, or None."""
    if config.train.early_stopping is not None:
        return "early stopping would end each network at its own epoch"
    if config.optim.schedule.name == "plateau":
        return "a plateau schedule gives each network its own learning rate"
    if config.train.condition_epochs:
        return "condition numbers are counted for one network at a time"
    if not config.optim.name.startswith("torch-"):
        return "the Riemannian optimisers move one network at a time; use a torch- one"
    if config.train.precision != "true":
        return "mixed precision is for one network at a time"
    if config.train.statistics != "running":
        return "statistics are computed anew for one network at a time"
    if config.train.metric_penalty or config.train.crop < 1.0:
        return "metric_penalty and crop are for one network at a time"
    if config.data.domain is not None or config.train.adapt:
        return "statistics by domain, and those of a part that is evaluated, are taken for one network at a time"
    return None


def groups_of(configs: Sequence[RunConfig]) -> list[list[RunConfig]]:
    """Return the runs that can be trained together: equal but for seed, fold and what of the data they take."""
    found: dict[str, list[RunConfig]] = {}
    for config in configs:
        if why_not(config) is None:
            data = config.data.model_copy(
                update={
                    "options": {},
                    "where": {},
                    "split": config.data.split.model_copy(update={"fold": 0, "seed": 0}),
                }
            )
            found.setdefault(canonical(config.model_copy(update={"data": data, "seed": 0})), []).append(config)
    return [group for group in found.values() if len(group) > 1]


def batches(configs: Sequence[RunConfig], *, store: Store, size: int) -> list[list[RunConfig]]:
    """Return the batches that :func:`run_batch` may train, of ``size`` networks at most.

    Runs that are done, that have a checkpoint of their own, or that no other run goes with, are in none.
    """
    unique = {config.hash: config for config in configs}.values()
    untouched = [c for c in unique if not store.run(c).done and not store.run(c).checkpoint_file.exists()]
    cut = [group[start : start + size] for group in groups_of(untouched) for start in range(0, len(group), size)]
    return [batch for batch in cut if len(batch) > 1]


def run_batch(batch: Sequence[RunConfig], *, store: Store, execution: Execution | None = None) -> None:
    """Compute runs of one of :func:`batches`, or continue them where they were stopped together.

    Parameters
    ----------
    batch : sequence of RunConfig
        Equal but for seed and data.
    store, execution
        As in :func:`~.run.run`; one process and one device.

    Raises
    ------
    ExperimentError
        Where these networks cannot be trained as one (dropout, parts of different sizes), or another process
        writes one of the runs. Nothing is then written.
    """
    execution = execution or Execution()
    name = hashlib.sha256("".join(config.hash for config in batch).encode()).hexdigest()[:16]
    with ExitStack() as stack:
        for config in batch:
            stack.enter_context(store.run(config).locked(timeout=execution.lock_timeout))
        stack.enter_context(rng.deterministic(threads=execution.threads))
        fabric = make_fabric(replace(execution, devices=1), precision="true")
        trainer = _make(batch, execution, fabric)
        for config in batch:
            store.prepare(config)
        file = store.root / "batches" / f"{name}.pt"
        file.parent.mkdir(parents=True, exist_ok=True)
        state = load_checkpoint(file, config_hash=name, device=fabric.device)
        if state is not None:
            trainer.load_state_dict(state)
        _train(trainer, batch, store, execution, lambda: save_checkpoint(file, trainer.state_dict(), config_hash=name))
        _finish(trainer, batch, store, execution, fabric)
        file.unlink(missing_ok=True)


def _make(group: Sequence[RunConfig], execution: Execution, fabric: Fabric) -> BatchedTrainer:
    tasks: list[TaskData] = []
    for config in group:
        dtype = PRECISIONS[config.train.dtype][0]
        tasks.append(load_task(config.data, data_dir=execution.data_dir, dtype=dtype).to(fabric.device))
    lengths = {(len(t.train), t.validation and len(t.validation), len(t.test), t.sample_shape) for t in tasks}
    if len(lengths) > 1:
        raise ExperimentError(f"batched runs need parts of the same sizes, these have {sorted(lengths, key=str)}")
    # Each network is made and seeded as it would be alone.
    modules = [make_trainer(config, task, fabric).module for config, task in zip(group, tasks, strict=True)]
    return BatchedTrainer(configs=group, tasks=tasks, modules=modules)


def _train(
    trainer: BatchedTrainer, batch: Sequence[RunConfig], store: Store, execution: Execution, save: Callable[[], None]
) -> None:
    epochs = batch[0].train.epochs
    with ExitStack() as stack:
        logs: list[list[EpochLog]] = [[] for _ in batch]
        for own, config, history in zip(logs, batch, trainer.histories, strict=True):
            own.append(CsvLog(store.run(config).metrics_file, history))
            if execution.tensorboard:
                own.append(TensorBoardLog(store.run(config).path / "tensorboard", epoch=trainer.epoch))
            for log in own:
                stack.callback(log.close)
        display = None
        if shows_progress(execution):
            title = f"{len(batch)} × {batch[0].model.name}, {batch[0].model.norm}"
            display = stack.enter_context(ProgressLog(title, epochs=epochs, done=trainer.epoch))
        while trainer.epoch < epochs:
            rows = trainer.run_epoch()
            for own, row in zip(logs, rows, strict=True):
                for log in own:
                    log.write(row)
            if trainer.epoch % execution.checkpoint_every == 0:
                save()
            if display is not None:
                display.write({key: sum(row[key] for row in rows) / len(rows) for key in rows[0] if key in rows[-1]})


def _finish(
    trainer: BatchedTrainer, batch: Sequence[RunConfig], store: Store, execution: Execution, fabric: Fabric
) -> None:
    one = replace(execution, devices=1)
    described = environment.describe(one, device=fabric.device, engine=f"batched, {len(batch)} networks")
    for index, config in enumerate(batch):
        folder = store.run(config)
        write_json(folder.environment_file, described)
        states = {"selected": trainer.selected_state(index), "last": trainer.last_state(index)}
        save_checkpoint(folder.model_file, states, config_hash=config.hash)
        result = make_result(
            config,
            history=trainer.histories[index],
            chosen_epoch=trainer.chosen_epoch(index),
            conditions={},
            parameters=sum(p.numel() for p in trainer.base.parameters()),
            commit=environment.commit(),
        )
        write_json(folder.result_file, result)
        folder.error_file.unlink(missing_ok=True)
