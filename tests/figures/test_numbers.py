"""The numbers in the figures, against closed forms and other libraries."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from drawings import CHANNELS, TIMES, responses
from torch import nn

from spdnorm.figures import (
    FigureError,
    draw_cone,
    draw_ellipses,
    draw_metric_maps,
    gradient_responses,
    normalization_steps,
    response_shares,
)
from spdnorm.figures.cone import boundary
from spdnorm.figures.ellipses import ellipse_points
from spdnorm.figures.layer_steps import ill_conditioned_batch
from spdnorm.figures.shares import markdown_table, summarize_shares
from spdnorm.figures.topomaps import scalp
from spdnorm.geometry import get
from spdnorm.models import EEGSPDNet
from spdnorm.nn import norm_layer
from spdnorm.nn.constraints import assign
from spdnorm.testing import spd_matrices


class Quadratic(nn.Module):
    """Score k is a_k . x + (b_k . x)^2 / 2, whose gradient is a_k + (b_k . x) b_k."""

    def __init__(self, k: int, size: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.a, self.b = torch.randn(2, k, size, generator=generator, dtype=torch.float64)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = self.dropout(x.flatten(1))
        return flat @ self.a.T + (flat @ self.b.T).square() / 2


def test_gradient_responses_of_a_known_score() -> None:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(300, 2, 5, generator=generator, dtype=torch.float64)
    y = torch.randint(0, 3, (300,), generator=generator)
    model = Quadratic(3, 10).train()
    found = gradient_responses(model, x, y, n_classes=3)
    for k in range(3):
        flat = x[y == k].flatten(1)
        each = model.a[k] + (flat @ model.b[k])[:, None] * model.b[k]
        torch.testing.assert_close(found[k], each.abs().mean(0).reshape(2, 5), rtol=1e-12, atol=0)
    # Dropout was off, and is on again.
    assert model.training


def test_gradient_responses_of_a_network_by_finite_differences() -> None:
    torch.manual_seed(0)
    model = EEGSPDNet(3, 2, 40, dims=(5, 4), kernel_size=8, spatial_filters=6, norm="gbw", dtype=torch.float64)
    x, y = torch.randn(8, 3, 40, dtype=torch.float64), torch.arange(8) % 2
    model(x)
    found = gradient_responses(model, x, y, n_classes=2)
    model.eval()
    step = 1e-5
    for channel, time in ((0, 0), (1, 20), (2, 39)):
        moved = torch.zeros_like(x)
        moved[:, channel, time] = step
        with torch.no_grad():
            slope = (model(x + moved) - model(x - moved)).gather(1, y[:, None])[:, 0] / (2 * step)
        for k in range(2):
            torch.testing.assert_close(found[k, channel, time], slope[y == k].abs().mean(), rtol=1e-5, atol=1e-9)


def test_every_class_must_be_there() -> None:
    with pytest.raises(FigureError, match=r"\[4, 0, 4\]"):
        gradient_responses(Quadratic(3, 10), torch.zeros(8, 2, 5), torch.arange(8) % 2 * 2, n_classes=3)


def test_shares_of_a_block() -> None:
    response = np.zeros((8, 50))
    response[4, 10:30] = 3.0
    response[2, 40:] = 1.0
    shares = response_shares(response, TIMES, channel=4, window=(0.2, 0.38))
    assert shares.channel == pytest.approx(60 / 70)
    assert shares.window == pytest.approx(30 / 70)
    assert shares.both == pytest.approx(30 / 70)
    assert (shares.rank, shares.even) == (1, 10 / 50)
    assert response_shares(response, TIMES, channel=2).rank == 2
    assert response_shares(responses()[0], TIMES, channel=CHANNELS.index("Oz")).rank == 1
    with pytest.raises(FigureError, match="zero"):
        response_shares(np.zeros((8, 50)), TIMES, channel=0)


def test_summary_averages_classes_then_runs() -> None:
    rows = [
        {"method": "A", "seed": seed, "subject": "1", "class": k, "channel": 0.2 + 0.1 * seed + 0.02 * k}
        | {"rank": 1 + k, "window": 0.5, "both": 0.1, "even": 0.36}
        for seed in (0, 1)
        for k in (0, 1)
    ]
    table = summarize_shares(rows)
    assert table["runs"].tolist() == [2]
    assert table["channel_mean"].item() == pytest.approx(0.26)
    assert table["channel_std"].item() == pytest.approx(np.std([0.21, 0.31], ddof=1))
    text = markdown_table(table, channel="Oz", n_channels=8, window=(0.25, 0.6))
    assert "| A | 2 | 26.0 ± 7.1 | 1.5 | 50.0 ± 0.0 | 10.0 ± 0.0 |" in text
    assert "| *even response* | | 12.5 | 4.5 | 36.0 | 4.5 |" in text


def test_curves_are_the_closed_forms() -> None:
    data = draw_metric_maps().data
    closed = {
        ("AIM", "log"): np.log,
        ("AIM", "exp"): np.exp,
        ("BWM", "log"): lambda x: 2 * (np.sqrt(x) - 1),
        ("BWM", "exp"): lambda u: (1 + u / 2) ** 2,
    }
    for (metric, which), function in closed.items():
        curve = data[(data["metric"] == metric) & (data["map"] == which)]
        np.testing.assert_allclose(curve["output"], function(curve["eigenvalue"]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["gbw", "bw", "spd", "spdm", "manifold", "lie"])
@pytest.mark.parametrize("training", [True, False])
def test_steps_end_in_what_the_layer_returns(name: str, training: bool) -> None:
    x = spd_matrices(3, 12, condition=50.0)
    layer = norm_layer(name, 3, dtype=torch.float64)
    assign(layer, "bias", spd_matrices(3, condition=4.0, seed=3))
    layer(x)
    layer.train(training)
    before = {key: value.clone() for key, value in layer.state_dict().items()}
    steps = normalization_steps(layer, x)
    assert all(torch.equal(value, before[key]) for key, value in layer.state_dict().items())
    torch.testing.assert_close(steps["output"], layer(x), rtol=1e-9, atol=1e-10)


def test_steps_do_what_they_are_called() -> None:
    # Affine-invariant: the operations are isometries and dilations, so that each step can be told exactly.
    metric, x = get("aim"), spd_matrices(3, 15, condition=20.0)
    layer = norm_layer("spdm", 3, dtype=torch.float64, mean_iterations=None)
    bias = spd_matrices(3, condition=5.0, seed=2)
    assign(layer, "bias", bias)
    torch.nn.init.constant_(layer.scale, 0.5)
    steps = normalization_steps(layer, x)
    identity = torch.eye(3, dtype=torch.float64)
    torch.testing.assert_close(metric.mean(steps["centred"]), identity, rtol=0, atol=1e-9)
    torch.testing.assert_close(metric.variance(steps["centred"]), metric.variance(x), rtol=1e-8, atol=0)
    assert float(metric.variance(steps["scaled"])) == pytest.approx(0.25, rel=1e-4)
    torch.testing.assert_close(metric.mean(steps["output"]), bias, rtol=0, atol=1e-8)


def test_ellipses_lie_on_their_quadric() -> None:
    x = spd_matrices(2, 6, condition=30.0)
    points = torch.from_numpy(ellipse_points(x))
    form = torch.einsum("npi,nij,npj->np", points, torch.linalg.inv(x), points)
    torch.testing.assert_close(form, torch.ones_like(form), rtol=1e-10, atol=0)
    radius = points.norm(dim=-1)
    torch.testing.assert_close(radius.max(1).values, torch.linalg.eigvalsh(x)[:, -1].sqrt(), rtol=1e-3, atol=0)


def test_boundary_of_the_cone_is_singular() -> None:
    edge = boundary(np.array([0.5, 2.0]), np.linspace(0, np.pi, 13))
    difference, off, half = np.moveaxis(edge, -1, 0)
    determinant = (half + difference) * (half - difference) - off**2
    np.testing.assert_allclose(determinant, 0, atol=1e-12)
    np.testing.assert_allclose(half, [[0.5] * 13, [2.0] * 13])


def test_generated_batch_has_the_conditions_asked_for() -> None:
    values = np.linalg.cond(ill_conditioned_batch(200, condition=(1e2, 1e4)).numpy())
    assert values.min() > 99
    assert values.max() < 1.01e4
    assert np.log10(values).std() > 0.4


def test_only_planes_are_drawn() -> None:
    x = spd_matrices(3, 4)
    for draw in (lambda: draw_cone(x, x, title="a"), lambda: draw_ellipses({"input": x}, title="a")):
        with pytest.raises(FigureError, match=r"dims=\[15, 2\]"):
            draw()


def test_channels_lie_where_the_montage_has_them() -> None:
    info = scalp(CHANNELS)
    position = {name: info["chs"][i]["loc"][:3] for i, name in enumerate(CHANNELS)}
    # x grows to the right, y to the front, z upwards.
    assert position["PO7"][0] < position["PO3"][0] < position["POz"][0] < position["PO4"][0] < position["PO8"][0]
    assert position["O1"][0] < position["Oz"][0] < position["O2"][0]
    assert position["Oz"][1] == min(place[1] for place in position.values())
