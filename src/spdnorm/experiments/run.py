"""One run: a function from a configuration to its result row, with the results folder as its memory."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from statistics import mean, median
from typing import Any

from lightning_fabric import Fabric

from . import environment, rng
from .building import PRECISIONS, make_model
from .checkpoint import load_checkpoint, save_checkpoint
from .config import RunConfig
from .data import TaskData, load_task
from .distributed import make_fabric, synchronized
from .errors import CheckpointError, ConfigError
from .execution import Execution
from .files import full_disk_errors, write_json, write_text
from .logs import CsvLog, EpochLog, ProgressLog, TensorBoardLog, shows_progress
from .metric_parameters import start_metrics
from .optimizers import freeze, make_optimizer, make_schedule
from .readings import readings
from .store import RunFolder, Store
from .trainer import Trainer

__all__ = ["LogFactory", "make_trainer", "run"]

# torch's generator, thread count and deterministic switch are one for each process: two runs in two threads of a
# Dask worker would draw each other's random numbers.
_PROCESS = threading.Lock()

#: Makes a log that looks at more than the epoch's numbers: the network, say.
LogFactory = Callable[[RunFolder, Trainer], EpochLog]


def run(
    config: RunConfig,
    *,
    store: Store,
    execution: Execution | None = None,
    on_epoch: Callable[[RunFolder, dict[str, float]], None] | None = None,
    logs: Sequence[LogFactory] = (),
) -> dict[str, Any]:
    """Compute a run, or read its result where it is done, or continue where it was stopped.

    Parameters
    ----------
    config : RunConfig
        What to compute.
    store : Store
        The results folder.
    execution : Execution, optional
        How; see there.
    on_epoch : callable, optional
        Called with the folder and the epoch's row after every epoch, its checkpoint written.
    logs : sequence of callables
        Each makes one more log of the epochs from the folder and the trainer, before the first epoch of this call.

    Returns
    -------
    dict
        The row, as in ``result.json``: ``hash``, ``readings`` by protocol, ``seconds_per_epoch``, ...
    """
    execution = execution or Execution()
    folder = store.run(config)
    if folder.done:
        return folder.result()
    with _PROCESS, rng.deterministic(threads=execution.threads):
        fabric = make_fabric(execution, precision=config.train.precision)
        if fabric.global_rank > 0:
            _train(config, folder=folder, fabric=fabric, execution=execution, on_epoch=None, logs=())
            return {}
        with folder.locked(timeout=execution.lock_timeout):
            if folder.done:
                return folder.result()
            store.prepare(config)
            try:
                with full_disk_errors(folder.path):
                    return _train(
                        config, folder=folder, fabric=fabric, execution=execution, on_epoch=on_epoch, logs=logs
                    )
            except Exception:
                with suppress(OSError):
                    write_text(folder.error_file, traceback.format_exc())
                raise


def make_trainer(config: RunConfig, task: TaskData, fabric: Fabric) -> Trainer:
    """Return a trainer at its start: everything seeded, nothing trained."""
    if config.train.crop < 1.0 and not task.holds_signals:
        raise ConfigError("train.crop takes windows of signals; this run's samples are matrices")
    rng.seed_all(config.seed)
    model = make_model(config.model, task, dtype=config.train.dtype)
    if fabric.world_size > 1:
        model = synchronized(model)
    model = model.to(fabric.device)
    freeze(model, config.train.freeze)
    start_metrics(model, task.train, config.train)
    optimizer = make_optimizer(model, config.optim)
    schedule = make_schedule(optimizer, config.optim.schedule, epochs=config.train.epochs)
    return Trainer(config=config, task=task, model=model, optimizer=optimizer, schedule=schedule, fabric=fabric)


def _train(
    config: RunConfig,
    *,
    folder: RunFolder,
    fabric: Fabric,
    execution: Execution,
    on_epoch: Callable[[RunFolder, dict[str, float]], None] | None,
    logs: Sequence[LogFactory],
) -> dict[str, Any]:
    task = load_task(config.data, data_dir=execution.data_dir, dtype=PRECISIONS[config.train.dtype][0])
    trainer = make_trainer(config, task.to(fabric.device), fabric)
    state = load_checkpoint(folder.checkpoint_file, config_hash=config.hash, device=fabric.device)
    if state is not None:
        try:
            trainer.load_state_dict(state)
        except (KeyError, RuntimeError, ValueError) as error:
            raise CheckpointError(
                f"{folder.checkpoint_file} was written by another version of the package and does not fit ({error}); "
                "remove it to start the run over"
            ) from error
    writes = fabric.global_rank == 0
    opened = _open_logs(config, folder, execution, trainer, logs) if writes else []
    try:
        while not trainer.finished:
            row = trainer.run_epoch()
            for log in opened:
                log.write(row)
            if writes and (trainer.finished or trainer.epoch % execution.checkpoint_every == 0):
                save_checkpoint(folder.checkpoint_file, trainer.state_dict(), config_hash=config.hash)
            if on_epoch is not None:
                on_epoch(folder, row)
    finally:
        for log in opened:
            log.close()
    return _finish(config, folder, execution, trainer) if writes else {}


def _open_logs(
    config: RunConfig, folder: RunFolder, execution: Execution, trainer: Trainer, more: Sequence[LogFactory]
) -> list[EpochLog]:
    found = replace(execution, devices=trainer.fabric.world_size)
    write_json(folder.environment_file, environment.describe(found, device=trainer.fabric.device, engine="single"))
    logs: list[EpochLog] = [make(folder, trainer) for make in more]
    logs.append(CsvLog(folder.metrics_file, trainer.history))
    if execution.tensorboard:
        logs.append(TensorBoardLog(folder.path / "tensorboard", epoch=trainer.epoch))
    if shows_progress(execution):
        title = f"{config.model.name}, {config.model.norm}, seed {config.seed}"
        logs.append(ProgressLog(title, epochs=config.train.epochs, done=trainer.epoch))
    return logs


def _finish(config: RunConfig, folder: RunFolder, execution: Execution, trainer: Trainer) -> dict[str, Any]:
    last = trainer.evaluated.module.state_dict()
    selected = last if trainer.best is None else trainer.best["model"]
    save_checkpoint(folder.model_file, {"selected": selected, "last": last}, config_hash=config.hash)
    result = make_result(
        config,
        history=trainer.history,
        chosen_epoch=trainer.chosen_epoch,
        conditions=trainer.conditions,
        parameters=sum(p.numel() for p in trainer.module.parameters()),
        commit=environment.commit(),
    )
    write_json(folder.result_file, result)
    folder.checkpoint_file.unlink(missing_ok=True)
    folder.error_file.unlink(missing_ok=True)
    return result


def make_result(
    config: RunConfig,
    *,
    history: list[dict[str, float]],
    chosen_epoch: int | None,
    conditions: dict[str, Any],
    parameters: int,
    commit: str | None,
) -> dict[str, Any]:
    """Return the row of a finished run as plain data."""
    seconds = [row["seconds"] for row in history]
    return {
        "hash": config.hash,
        "config": config.model_dump(mode="json"),
        "seed": config.seed,
        "epochs": len(history),
        "readings": readings(
            history,
            chosen_epoch=chosen_epoch,
            stopped_early=len(history) < config.train.epochs,
            select=config.train.select,
        ),
        "train_accuracy": history[-1]["train_accuracy"],
        "train_loss": history[-1]["train_loss"],
        "seconds_per_epoch": mean(seconds),
        "median_seconds_per_epoch": median(seconds),
        "parameters": parameters,
        "conditions": conditions,
        "commit": commit,
    }
