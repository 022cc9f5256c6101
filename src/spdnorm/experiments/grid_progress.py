"""Progress of a grid in epochs, read off the results folder, so that it works on every engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from .config import RunConfig
from .execution import Execution
from .logs import console, shows_progress
from .store import Store

__all__ = ["GridProgress", "grid_progress"]

POLL_SECONDS = 0.5


class GridProgress(Protocol):
    """Is told when runs have ended."""

    def finished(self, count: int, *, failed: bool = False) -> None:
        """Count runs."""


class _Quiet:
    def finished(self, count: int, *, failed: bool = False) -> None:
        """Count nothing."""


class _Live:
    def __init__(self, todo: Sequence[RunConfig], *, store: Store, title: str, done: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._folders = {store.run(config): config.train.epochs for config in todo}
        self._runs, self._ended, self._failed = len(todo) + done, done, 0
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console(),
            speed_estimate_period=120,
        )
        # Epochs that earlier calls have done count as a start, not as speed.
        self._task: Any = self._progress.add_task(
            title, total=sum(self._folders.values()), completed=self._epochs(), numbers=""
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def _epochs(self) -> int:
        return sum(epochs if folder.done else folder.epochs_done() for folder, epochs in self._folders.items())

    def _show(self) -> None:
        numbers = f"{self._ended}/{self._runs} runs" + (f", {self._failed} failed" if self._failed else "")
        self._progress.update(self._task, completed=self._epochs(), numbers=numbers)

    def _poll(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            self._show()

    def finished(self, count: int, *, failed: bool = False) -> None:
        """Count runs."""
        self._ended += count
        self._failed += count * failed

    def start(self) -> None:
        """Show."""
        self._progress.start()
        self._thread.start()

    def stop(self) -> None:
        """Show the last state and leave it there."""
        self._stop.set()
        self._thread.join()
        self._show()
        self._progress.stop()


@contextmanager
def grid_progress(
    todo: Sequence[RunConfig], *, store: Store, execution: Execution, title: str, done: int
) -> Iterator[GridProgress]:
    """Show epochs, runs, failures and time left while the block runs, where progress is shown at all."""
    if not shows_progress(execution):
        yield _Quiet()
        return
    live = _Live(todo, store=store, title=title, done=done)
    live.start()
    try:
        yield live
    finally:
        live.stop()
