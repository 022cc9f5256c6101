"""Where the numbers of every epoch go: a CSV file always, TensorBoard on request, a display on a terminal."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from ..datasets.extras import require
from .execution import Execution
from .files import write_text

__all__ = ["CsvLog", "EpochLog", "ProgressLog", "TensorBoardLog", "shows_progress"]

#: Columns of metrics.csv; a part that was not looked at leaves its cells empty.
COLUMNS = (
    "epoch",
    "lr",
    "train_loss",
    "train_accuracy",
    "validation_loss",
    "validation_accuracy",
    "validation_batch_accuracy",
    "test_loss",
    "test_accuracy",
    "test_batch_accuracy",
    "seconds",
    "samples_per_second",
)


class EpochLog(Protocol):
    """Is told of every epoch."""

    def write(self, row: Mapping[str, float]) -> None:
        """Take the numbers of one epoch."""

    def close(self) -> None:
        """Finish."""


class CsvLog:
    """``metrics.csv``: starts from the epochs that the checkpoint knows, then grows by a row an epoch."""

    def __init__(self, path: Path, history: Sequence[Mapping[str, float]]) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(history)
        # Rows after the checkpoint, of a run that was killed between the two, are dropped here.
        write_text(path, text.getvalue())
        self._stream = path.open("a", newline="")
        self._writer = csv.DictWriter(self._stream, COLUMNS, lineterminator="\n")

    def write(self, row: Mapping[str, float]) -> None:
        """Append one row, visible to readers at once."""
        self._writer.writerow(row)
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


class TensorBoardLog:
    """TensorBoard scalars; a continued run overwrites the steps it repeats."""

    def __init__(self, folder: Path, *, epoch: int) -> None:
        module = require("torch.utils.tensorboard", extra="experiments", purpose="TensorBoard logs")
        self._writer = module.SummaryWriter(str(folder), purge_step=epoch + 1)

    def write(self, row: Mapping[str, float]) -> None:
        """Write one scalar for each number."""
        for name, value in row.items():
            if name != "epoch":
                self._writer.add_scalar(name.replace("_", "/", 1), value, int(row["epoch"]))

    def close(self) -> None:
        """Flush and close."""
        self._writer.close()


class ProgressLog:
    """A live line with loss, accuracy, samples a second and time left."""

    def __init__(self, title: str, *, epochs: int, done: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=16),
            MofNCompleteColumn(),
            # On a narrow terminal numbers go on in the next line: none of them is cut off.
            TextColumn("{task.fields[numbers]}", table_column=Column(no_wrap=False)),
            TimeRemainingColumn(),
            console=console(),
        )
        self._progress.start()
        self._task: Any = self._progress.add_task(title, total=epochs, completed=done, numbers="")

    def write(self, row: Mapping[str, float]) -> None:
        """Move on by one epoch."""
        numbers = f"loss {row['train_loss']:.3f}  train {row['train_accuracy']:6.1%}"
        if "validation_accuracy" in row:
            numbers += f"  validation {row['validation_accuracy']:6.1%}"
        numbers += f"  {row['samples_per_second']:,.0f} samples/s"
        self._progress.update(self._task, advance=1, numbers=numbers)

    def close(self) -> None:
        """Leave the last state on the screen."""
        self._progress.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def console() -> Any:
    """Return the console for people: standard error, so that standard output holds results alone."""
    from rich.console import Console

    return Console(stderr=True)


def shows_progress(execution: Execution) -> bool:
    """Whether to draw progress: as asked, or where standard error is a terminal."""
    return execution.progress == "on" or (execution.progress == "auto" and sys.stderr.isatty())
