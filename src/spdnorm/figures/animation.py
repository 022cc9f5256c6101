"""A training as a film: 2 x 2 features before and after the normalisation, and the loss (``training-animation``)."""

from __future__ import annotations

import io
from collections.abc import Iterable
from statistics import median
from typing import Any

import pandas as pd
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor, nn

from ..experiments.conditioning import norm_places
from .cone import draw_cone_axis
from .ellipses import matrix_table, need_two
from .output import Drawn
from .runs import PartName, TrainedRun
from .style import COLORS, MARKERS, style

__all__ = ["draw_animation", "norm_features"]


@torch.no_grad()
def norm_features(model: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the features (N, n, n) just before and just after a network's first normalisation."""
    seen: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> None:
        seen.extend((inputs[0].detach(), output.detach()))

    handle = next(iter(norm_places(model).values())).register_forward_hook(keep)
    try:
        model(x)
    finally:
        handle.remove()
    return seen[0], seen[1]


def draw_animation(
    run: TrainedRun, *, part: PartName = "test", frames: int = 24, dpi: int = 80, milliseconds: int = 350
) -> Drawn:
    """Draw a frame for each kept epoch; the figure is the last one, the film a GIF beside it.

    The network's features must be 2 x 2 at the normalisation (``model.options.dims = [15, 2]``).

    Examples
    --------
    >>> from pathlib import Path
    >>> from spdnorm.experiments import Execution, Store, load_recipe
    >>> from spdnorm.figures import train_run
    >>> config = load_recipe("demo").entries(quick=True, rows=("gbwbn",))[0].config
    >>> config = config.with_values({"model.options.hidden": [2]})
    >>> run = train_run(config, store=Store(Path("runs")), execution=Execution())
    >>> draw_animation(run, dpi=40).files[".gif"][:6]
    b'GIF89a'
    """
    data, history = run.part(part), pd.read_csv(run.folder.metrics_file)
    epochs = run.need_epochs(frames)
    features = [norm_features(run.model(epoch), data.x) for epoch in epochs]
    need_two(features[0][0])
    # One scale for the whole film, so that what moves are the points; a few far ones are out of the picture.
    reach = [median(float(_half_trace(pair[i]).quantile(0.95)) for pair in features) for i in (0, 1)]
    pictures, tables = [], []
    for epoch, pair in zip(epochs, features, strict=True):
        figure = _frame(run, epoch, pair, data.y, history, reach)
        pictures.append(_image(figure, dpi))
        tables.append(matrix_table({"before": pair[0], "after": pair[1]}, epoch=epoch))
    film = _film(pictures, milliseconds)
    return Drawn(figure=figure, data=pd.concat(tables, ignore_index=True), files={".gif": film})


def _half_trace(x: Tensor) -> Tensor:
    return x.diagonal(dim1=-2, dim2=-1).sum(-1) / 2


def _frame(
    run: TrainedRun, epoch: int, pair: tuple[Tensor, Tensor], labels: Tensor, history: pd.DataFrame, reach: list[float]
) -> Figure:
    with style():
        figure = Figure(figsize=(7.6, 2.8))
        figure.set_layout_engine("none")
        for i, (name, matrices) in enumerate(zip(("before", "after"), pair, strict=True)):
            axis = figure.add_axes((0.365 * i, 0.08, 0.33, 0.8), projection="3d")
            for k, class_name in enumerate(run.class_names):
                look = {"color": COLORS[k % len(COLORS)], "marker": MARKERS[k % len(MARKERS)], "label": class_name}
                draw_cone_axis(axis, matrices[labels == k], reach=reach[i], cone=k == 0, **look)
            axis.set_title(f"{name} the layer", y=0.98)
        figure.legend(*axis.get_legend_handles_labels(), loc="lower left", ncols=len(run.class_names), fontsize=7)
        axis = figure.add_axes((0.785, 0.34, 0.2, 0.48))
        done = history[history["epoch"] <= epoch]
        axis.plot(done["epoch"], done["train_loss"], color=COLORS[0], label="training")
        if done["validation_loss"].notna().any():
            axis.plot(done["epoch"], done["validation_loss"], color=COLORS[2], linestyle="--", label="validation")
        top = float(history[["train_loss", "validation_loss"]].max().max())
        axis.set(xlim=(1, history["epoch"].max()), ylim=(0, top), xlabel="Epoch", ylabel="cross entropy", title="loss")
        axis.legend(loc="upper center", bbox_to_anchor=(0.45, -0.32), ncols=2, columnspacing=1, handlelength=1.6)
        figure.suptitle(f"{run.label}, epoch {epoch}", fontsize=9, y=0.99)
    return figure


def _image(figure: Figure, dpi: int) -> Image.Image:
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(dpi)
    with style():
        canvas.draw()
    width, height = canvas.get_width_height()
    return Image.frombuffer("RGBA", (width, height), bytes(canvas.buffer_rgba())).convert("RGB")


def _film(pictures: Iterable[Image.Image], milliseconds: int) -> bytes:
    # One palette of 64 colours keeps it small; the last frame stays longer.
    frames = [picture.quantize(64, dither=Image.Dither.NONE) for picture in pictures]
    stream = io.BytesIO()
    durations = [milliseconds] * (len(frames) - 1) + [6 * milliseconds]
    frames[0].save(
        stream, format="GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True
    )
    return stream.getvalue()
