"""Deterministic figures look as they did, are the same files each time, and carry their numbers with them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from drawings import BASELINE, CHANNELS, CLASSES, DPI, DRAWINGS, TIMES, responses
from matplotlib.colors import to_rgb
from matplotlib.testing.compare import compare_images

from spdnorm.figures import FigureError, draw_heatmaps, draw_topomaps, save
from spdnorm.figures.output import FORMATS, picture
from spdnorm.figures.style import COLORS, LINES, MARKERS, SEQUENTIAL, style

#: Root mean square over all pixels, of 255. Another version of FreeType moves letters by less than this; a line, a
#: label or a colour that changes moves it by more (see the test of the tolerance).
TOLERANCE = 4.0


def _against_baseline(content: bytes, name: str, tmp_path: Path) -> str | None:
    drawn = tmp_path / f"{name}.png"
    drawn.write_bytes(content)
    return compare_images(str(BASELINE / f"{name}.png"), str(drawn), tol=TOLERANCE)


@pytest.mark.parametrize("name", DRAWINGS)
def test_looks_as_it_did(name: str, tmp_path: Path) -> None:
    difference = _against_baseline(picture(DRAWINGS[name]().figure, "png", dpi=DPI), name, tmp_path)
    assert difference is None, f"{difference}\nredraw with: python tests/figures/drawings.py {name}, and look at it"


def test_tolerance_sees_a_changed_number(tmp_path: Path) -> None:
    changed = responses()
    changed[:, [4, 6]] = changed[:, [6, 4]]
    maps = {"SPDNet-GBWBN": changed, "SPDNet-BN(m)": 0.1 * responses()[:, ::-1]}
    drawn = draw_heatmaps(maps, times=TIMES, class_names=CLASSES, channel_names=CHANNELS)
    assert _against_baseline(picture(drawn.figure, "png", dpi=DPI), "fig-heat", tmp_path) is not None


def test_baselines_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in BASELINE.glob("*.png")}
    assert set(sizes) == {f"{name}.png" for name in DRAWINGS}
    assert max(sizes.values()) < 60_000


def test_same_figure_same_bytes_in_every_format() -> None:
    for entry in FORMATS:
        assert picture(DRAWINGS["metric-maps"]().figure, entry, dpi=DPI) == picture(
            DRAWINGS["metric-maps"]().figure, entry, dpi=DPI
        )


def test_numbers_are_saved_beside_the_picture(tmp_path: Path) -> None:
    drawn = DRAWINGS["fig-heat"]()
    paths = save(drawn, tmp_path / "new" / "folder", "heat", dpi=30)
    assert [path.suffix for path in paths] == [".png", ".pdf", ".svg", ".csv"]
    read = pd.read_csv(paths[-1])
    first = read[read["method"] == "SPDNet-GBWBN"].drop(columns=["method", "class", "channel"]).to_numpy()
    np.testing.assert_allclose(first.reshape(3, 8, 50), responses(), rtol=1e-12)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    assert paths[1].read_bytes().startswith(b"%PDF")
    assert b"<svg" in paths[2].read_bytes()


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "heat.png").write_bytes(b"old")
    with pytest.raises(FigureError, match="gif"):
        save(DRAWINGS["metric-maps"](), tmp_path, "heat", formats=("png", "gif"))
    assert [path.name for path in tmp_path.iterdir()] == ["heat.png"]
    assert (tmp_path / "heat.png").read_bytes() == b"old"


def test_style_leaves_the_callers_settings_alone() -> None:
    import matplotlib as mpl

    mpl.rcParams["font.size"] = 17
    try:
        with style():
            assert mpl.rcParams["font.size"] == 9
        assert mpl.rcParams["font.size"] == 17
    finally:
        mpl.rcdefaults()


def test_channels_without_a_position_are_named() -> None:
    with pytest.raises(FigureError, match="nose"):
        draw_topomaps({"a": np.ones((1, 2))}, class_names=("x",), channel_names=("Oz", "nose"))


# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
SIGHT = {
    "all colours": np.eye(3),
    "no red": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}


def _lightness(colors: list[tuple[float, float, float]], sight: np.ndarray) -> np.ndarray:
    """CIE L* as somebody with this sight sees it."""
    srgb = np.array(colors)
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    luminance = (linear @ sight.T).clip(0, 1) @ np.array([0.2126, 0.7152, 0.0722])
    return np.where(luminance > 0.008856, 116 * np.cbrt(luminance) - 16, 903.3 * luminance)


@pytest.mark.parametrize("sight", SIGHT)
def test_categories_differ_in_lightness(sight: str) -> None:
    lightness = _lightness([to_rgb(color) for color in COLORS], SIGHT[sight])
    assert np.diff(np.sort(lightness)).min() > 9
    assert len(set(COLORS)) == len(set(MARKERS)) == len({str(line) for line in LINES}) == 5


@pytest.mark.parametrize("sight", SIGHT)
def test_sequential_colours_rise_in_lightness(sight: str) -> None:
    import matplotlib as mpl

    lightness = _lightness(mpl.colormaps[SEQUENTIAL](np.linspace(0, 1, 32))[:, :3].tolist(), SIGHT[sight])
    assert np.diff(lightness).min() > 0
    assert np.ptp(lightness) > 60


def test_a_picture_has_no_date() -> None:
    content = picture(DRAWINGS["metric-maps"]().figure, "svg", dpi=DPI)
    assert b"<dc:date>" not in content
    assert len(io.BytesIO(content).readlines()) > 100
