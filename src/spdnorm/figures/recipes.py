"""One function for each figure: from a request to what is drawn."""

from __future__ import annotations

import numpy as np
import torch

from ..nn import norm_layer
from ..nn.constraints import assign
from ..nn.norm.base import RiemannianBatchNorm
from .animation import draw_animation, norm_features
from .bias_diagram import draw_bias_backward
from .condition_plot import draw_conditions
from .cone import draw_cone
from .ellipses import draw_ellipses
from .errors import FigureError
from .gbwbn_diagram import draw_gbwbn
from .gradients import gradient_responses
from .heatmaps import draw_heatmaps
from .layer_steps import ill_conditioned_batch, normalization_steps
from .metric_maps import draw_metric_maps
from .output import Drawn
from .request import Request
from .runs import NORM_LABELS, TrainedRun
from .share_plot import draw_shares
from .shares import shares_of_run
from .topomaps import draw_topomaps, scalp

#: Features of 2 x 2 at the normalisation, which a picture can show whole.
_PLANE = {"model__options__dims": [15, 2]}


def _responses(run: TrainedRun, request: Request, epoch: int | None = None) -> np.ndarray:
    run.times()
    data = run.part(request.part)
    return gradient_responses(run.model(epoch), data.x, data.y, n_classes=run.task.n_classes).numpy()


def _labels(runs: list[TrainedRun]) -> list[str]:
    labels = [run.label for run in runs]
    if len(set(labels)) == len(labels):
        return labels
    return [f"{run.label}, seed {run.config.seed}, {run.folder.path.name[:6]}" for run in runs]


def heat(request: Request, norm: str = "gbw") -> Drawn:
    """Draw ``fig-heat``."""
    runs = request.trained(norms=(norm,))
    responses = {label: _responses(run, request) for label, run in zip(_labels(runs), runs, strict=True)}
    first = runs[0]
    return draw_heatmaps(
        responses,
        times=first.times(),
        class_names=first.class_names,
        channel_names=request.channels(first),
        window=request.window,
    )


def heat_spdbn(request: Request) -> Drawn:
    """Draw ``fig-heat1``."""
    return heat(request, norm="spd")


def topo(request: Request, norm: str = "gbw") -> Drawn:
    """Draw ``fig-topo``."""
    runs = request.trained(norms=(norm,))
    first = runs[0]
    # Channels without a position are an error before any gradient is computed.
    scalp(request.channels(first))
    responses = {label: _responses(run, request).mean(-1) for label, run in zip(_labels(runs), runs, strict=True)}
    return draw_topomaps(responses, class_names=first.class_names, channel_names=request.channels(first))


def topo_spdbn(request: Request) -> Drawn:
    """Draw ``fig-topo1``."""
    return topo(request, norm="spd")


def topo_epochs(request: Request) -> Drawn:
    """Draw ``topo``."""
    run = request.one(norms=("gbw",))
    scalp(request.channels(run))
    responses = {f"epoch {epoch}": _responses(run, request, epoch).mean(-1) for epoch in run.need_epochs(5)}
    return draw_topomaps(responses, class_names=run.class_names, channel_names=request.channels(run))


def response_shares(request: Request) -> Drawn:
    """Draw ``response-shares``."""
    runs = request.trained(norms=("gbw", "spd"))
    channels = request.channels(runs[0])
    rows = [
        row
        for run in runs
        for row in shares_of_run(
            run, part=request.part, channel=request.channel, window=request.window, channel_names=channels
        )
    ]
    return draw_shares(rows, channel=request.channel, n_channels=len(channels), window=request.window)


def condition_numbers(request: Request) -> Drawn:
    """Draw ``condition-numbers``."""
    return draw_conditions(request.trained(norms=("none", "gbw")))


def training_animation(request: Request) -> Drawn:
    """Draw ``training-animation``."""
    return draw_animation(request.one(norms=("gbw",), **_PLANE), part=request.part)


def ill_condition(request: Request) -> Drawn:
    """Draw ``ill-condition``: a network's features, or generated matrices through a fresh layer."""
    if request.runs or request.overrides:
        run = request.one(norms=("gbw",), **_PLANE)
        before, after = norm_features(run.model(), run.part(request.part).x)
        return draw_cone(before, after, title=f"{run.label}: features of the {request.part} part, trained")
    before = ill_conditioned_batch(60)
    name, layer = _fresh_layer(request)
    after = normalization_steps(layer, before)["output"]
    return draw_cone(before, after, title=f"{name} on generated ill-conditioned matrices")


def ellipses(request: Request) -> Drawn:
    """Draw ``ellipses``: a network's features through its trained layer, or generated ones through a fresh layer."""
    if request.runs or request.overrides:
        run = request.one(norms=("gbw",), **_PLANE)
        model = run.model()
        before, _ = norm_features(model, run.part(request.part).x)
        layer = next(module for module in model.modules() if isinstance(module, RiemannianBatchNorm))
        steps = normalization_steps(layer, before)
        return draw_ellipses(steps, title=f"{run.label}: features of the {request.part} part, trained")
    name, layer = _fresh_layer(request)
    # A bias and a scale to be seen, and the barycentre to convergence, where training takes one step.
    assert layer.scale is not None
    assign(layer, "bias", torch.tensor([[1.2, 0.5], [0.5, 0.8]], dtype=torch.float64))
    torch.nn.init.constant_(layer.scale, 0.25)
    layer.mean_iterations = None
    batch = ill_conditioned_batch(24, condition=(4.0, 100.0))
    shear = torch.tensor([[1.1, 0.5], [0.0, 0.6]], dtype=torch.float64)
    return draw_ellipses(normalization_steps(layer, shear @ batch @ shear.mT), title=f"{name} on generated matrices")


def _fresh_layer(request: Request) -> tuple[str, RiemannianBatchNorm]:
    names = request.norms or ("gbw",)
    layer = norm_layer(names[0], 2, dtype=torch.float64)
    if len(names) > 1 or not isinstance(layer, RiemannianBatchNorm):
        raise FigureError(f"--norm {', '.join(names)}: this figure shows one normalisation layer")
    return NORM_LABELS.get(names[0], names[0]), layer


def metric_maps(request: Request) -> Drawn:
    """Draw ``metric-maps``."""
    return draw_metric_maps()


def gbwbn(request: Request) -> Drawn:
    """Draw ``gbwbn``."""
    return draw_gbwbn()


def bias_backward(request: Request) -> Drawn:
    """Draw ``bias-backward``."""
    return draw_bias_backward()
