"""How much of a gradient response lies at one channel and in one stretch of time: the paper's claim in numbers.

The paper (Sec. "EEG model interpretation") reads off its pictures that responses concentrate at Oz, and those of
GBWBN, other than SPDNet-BN's, between 0.25 and 0.60 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from .errors import FigureError
from .gradients import gradient_responses
from .runs import PartName, TrainedRun

__all__ = ["WINDOW", "Shares", "markdown_table", "response_shares", "shares_of_run", "summarize_shares"]

#: Seconds after the start of a segment, from the paper.
WINDOW = (0.25, 0.60)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of a response, 0 to 1.

    Attributes
    ----------
    channel : float
        Of all that is at the channel; 1 / C where nothing stands out.
    rank : int
        The channel's place among all, 1 for the strongest.
    window : float
        Of all that falls into the stretch of time; ``even`` where nothing stands out.
    both : float
        At the channel, in the stretch of time.
    even : float
        The stretch's share of the samples.
    """

    channel: float
    rank: int
    window: float
    both: float
    even: float


def response_shares(
    response: np.ndarray, times: np.ndarray, *, channel: int, window: tuple[float, float] = WINDOW
) -> Shares:
    """Return the shares of one response.

    Parameters
    ----------
    response : ndarray, shape (C, T)
        Not negative.
    times : ndarray, shape (T,)
        Seconds.
    channel : int
        Row of the channel.
    window : pair of float
        First and last second, both included.

    Examples
    --------
    >>> shares = response_shares(np.ones((8, 100)), np.arange(100) / 100, channel=4, window=(0.0, 0.49))
    >>> shares.channel, shares.window, shares.even
    (0.125, 0.5, 0.5)
    """
    inside = (times >= window[0]) & (times <= window[1])
    total = response.sum()
    if not (np.isfinite(total) and total > 0):
        raise FigureError("the response is zero or not finite: the network's score does not depend on its input")
    by_channel = response.sum(1)
    return Shares(
        channel=float(by_channel[channel] / total),
        rank=1 + int((by_channel > by_channel[channel]).sum()),
        window=float(response[:, inside].sum() / total),
        both=float(response[channel, inside].sum() / total),
        even=float(inside.mean()),
    )


def shares_of_run(
    run: TrainedRun,
    *,
    part: PartName = "test",
    channel: str = "Oz",
    window: tuple[float, float] = WINDOW,
    channel_names: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return a row of shares for each class of a trained run.

    ``channel_names`` replaces those of the data set, for another reading of files that name none.

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Execution, RunConfig, Store
    >>> from spdnorm.figures import train_run
    >>> data = {"name": "basic-motions", "split": {"validation": 0.2}}
    >>> config = RunConfig(data=data, model={"name": "eegspdnet"}, train={"epochs": 1, "dtype": "mixed"})
    >>> run = train_run(config, store=Store(Path("runs")), execution=Execution())
    >>> rows = shares_of_run(run, channel="gyroscope.x")
    >>> [row["class"] for row in rows][:2]
    ['badminton', 'running']
    """
    names = list(channel_names or run.channel_names)
    if channel not in names:
        raise FigureError(f"there is no channel {channel!r}; the data have {', '.join(names) or 'no names'}")
    data = run.part(part)
    responses = gradient_responses(run.model(), data.x, data.y, n_classes=run.task.n_classes).numpy()
    times = run.times()
    fixed = {"method": run.label, "seed": run.config.seed, "subject": _subject(run)}
    return [
        {**fixed, "class": name} | asdict(response_shares(response, times, channel=names.index(channel), window=window))
        for name, response in zip(run.class_names, responses, strict=True)
    ]


def summarize_shares(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each method: means over classes, then mean and standard deviation over seeds and subjects."""
    frame = pd.DataFrame(rows)
    keys = ["method", "subject", "seed"]
    runs = frame.groupby(keys, sort=False)[["channel", "rank", "window", "both", "even"]].mean().reset_index()
    # The channel stands out in a run where its mean response over the classes is the largest.
    methods = runs.groupby("method", sort=False)
    table = methods[["channel", "window", "both"]].agg(["mean", "std"])
    table.columns = [f"{name}_{what}" for name, what in table.columns]
    table["rank_mean"] = methods["rank"].mean()
    table["even_window"] = methods["even"].mean()
    table.insert(0, "runs", methods.size())
    return table.reset_index()


def markdown_table(table: pd.DataFrame, *, channel: str, n_channels: int, window: tuple[float, float]) -> str:
    """Return :func:`summarize_shares`' table as Markdown, in percent, with what an even response would give."""
    span = f"{window[0]:.2f}-{window[1]:.2f} s"
    lines = [
        f"| Method | runs | at {channel} (%) | mean rank of {channel} | in {span} (%) | {channel} in {span} (%) |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in table.to_dict("records"):
        cells = [_percent(row, key) for key in ("channel", "window", "both")]
        lines.append(
            f"| {row['method']} | {row['runs']} | {cells[0]} | {row['rank_mean']:.1f} | {cells[1]} | {cells[2]} |"
        )
    even = float(table["even_window"].iloc[0])
    middle = (n_channels + 1) / 2
    cells = [f"{100 * share:.1f}" for share in (1 / n_channels, even, even / n_channels)]
    lines.append(f"| *even response* | | {cells[0]} | {middle:.1f} | {cells[1]} | {cells[2]} |")
    return "\n".join(lines) + "\n"


def _percent(row: dict[Any, Any], key: str) -> str:
    spread = row[f"{key}_std"]
    text = f"{100 * row[f'{key}_mean']:.1f}"
    return text if not np.isfinite(spread) else f"{text} ± {100 * spread:.1f}"


def _subject(run: TrainedRun) -> str:
    return ",".join(str(subject) for subject in run.config.data.options.get("subjects", ()))
