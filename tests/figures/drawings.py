"""Deterministic figures whose pictures are kept in ``baseline/``.

    python tests/figures/drawings.py [NAME ...]

draws the kept pictures anew, after a change that is meant to be seen: look at them before they are committed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from spdnorm.experiments import Store
from spdnorm.figures import Drawn, Request, draw_heatmaps, draw_shares, draw_topomaps, make_figure
from spdnorm.figures.output import picture

BASELINE = Path(__file__).with_name("baseline")
DPI = 50

CHANNELS = ("PO7", "PO3", "O1", "POz", "Oz", "PO4", "O2", "PO8")
CLASSES = ("6.66 Hz", "7.50 Hz", "8.57 Hz")
TIMES = np.arange(50) / 50


def responses() -> np.ndarray:
    """A response (3, 8, 50) that is strongest at Oz around 0.4 s, in another place for each class."""
    time = np.exp(-(((TIMES - 0.4) / 0.2) ** 2))
    space = np.array([0.2, 0.3, 0.5, 0.4, 1.0, 0.4, 0.5, 0.1])
    return np.stack([np.outer(np.roll(space, k), np.roll(time, 5 * k)) for k in range(len(CLASSES))])


def _share_rows() -> list[dict[str, object]]:
    drawn = np.random.default_rng(0).normal(0, 0.01, size=(2, 5, 3))
    return [
        {"method": method, "subject": "11", "seed": seed, "class": name, "even": 0.35, "rank": 1}
        | {"channel": 0.28 + drawn[i, seed, k], "window": 0.37 - drawn[i, seed, k], "both": 0.1}
        for i, method in enumerate(("SPDNet-GBWBN", "SPDNet-BN(m)"))
        for seed in range(5)
        for k, name in enumerate(CLASSES)
    ]


def _named(name: str) -> Drawn:
    return make_figure(name, Request(store=Store(Path("unused"))))[1]


def _heat() -> Drawn:
    maps = {"SPDNet-GBWBN": responses(), "SPDNet-BN(m)": 0.1 * responses()[:, ::-1]}
    return draw_heatmaps(maps, times=TIMES, class_names=CLASSES, channel_names=CHANNELS)


def _topo() -> Drawn:
    rows = {"SPDNet-GBWBN": responses().mean(-1), "SPDNet-BN(m)": 0.1 * responses()[:, ::-1].mean(-1)}
    return draw_topomaps(rows, class_names=CLASSES, channel_names=CHANNELS)


DRAWINGS: dict[str, Callable[[], Drawn]] = {
    "fig-heat": _heat,
    "fig-topo": _topo,
    "response-shares": lambda: draw_shares(_share_rows(), channel="Oz", n_channels=8, window=(0.25, 0.6)),
    "metric-maps": lambda: _named("metric-maps"),
    "gbwbn": lambda: _named("gbwbn"),
    "bias-backward": lambda: _named("fig-bp"),
    "ellipses": lambda: _named("ellipses"),
    "ill-condition": lambda: _named("ill-condition"),
}


def main(names: list[str]) -> None:
    BASELINE.mkdir(exist_ok=True)
    for name in names or DRAWINGS:
        (BASELINE / f"{name}.png").write_bytes(picture(DRAWINGS[name]().figure, "png", dpi=DPI))


if __name__ == "__main__":
    main(sys.argv[1:])
