"""``spdnorm figure`` on real EEG: trained here in two epochs, drawn, read back."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from spdnorm.cli import main
from spdnorm.datasets.mamem import CHANNELS, FREQUENCIES
from spdnorm.figures import figure_names
from spdnorm.figures.registry import ALIASES

QUICK = ["--set", "train.epochs=2", "--set", "model.options.spatial_filters=8", "--progress", "off"]
SMALL = ["--format", "png", "--dpi", "40"]


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures")


def call(*arguments: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(["figure", *arguments])
    assert left.value.code == 0


def draw(name: str, workshop: Path, data_dir: Path, *arguments: str) -> pd.DataFrame:
    """Draw a figure with networks from the workshop's own results; return its numbers."""
    where = ["--results", str(workshop / "runs"), "--data-dir", str(data_dir), "--out", str(workshop / "out")]
    call(name, *where, *SMALL, *arguments)
    with Image.open(workshop / "out" / f"{name}.png") as image:
        assert np.ptp(np.asarray(image.convert("L"))) > 200
    return pd.read_csv(workshop / "out" / f"{name}.csv")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as left:
        main(["figure", *arguments])
    assert left.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    return told.err


def test_two_methods_side_by_side(workshop: Path, data_dir: Path) -> None:
    data = draw("fig-heat", workshop, data_dir, *QUICK, "--norm", "gbw", "--norm", "spd")
    assert data["method"].unique().tolist() == ["SPDNet-GBWBN", "SPDNet-BN(m)"]
    assert data["class"].unique().tolist() == list(FREQUENCIES)
    assert tuple(data["channel"][:8]) == CHANNELS
    assert data.shape == (2 * 5 * 8, 3 + 125)
    assert (data.iloc[:, 3:].to_numpy() > 0).all()


def test_scalp_maps_are_the_mean_of_the_heat_maps(workshop: Path, data_dir: Path) -> None:
    heat = draw("fig-heat1", workshop, data_dir, *QUICK)
    topo = draw("fig-topo1", workshop, data_dir, *QUICK)
    np.testing.assert_allclose(topo["response"], heat.iloc[:, 3:].mean(axis=1), rtol=1e-6)


def test_epochs_of_one_training(workshop: Path, data_dir: Path) -> None:
    data = draw("topo", workshop, data_dir, *QUICK)
    assert data["row"].unique().tolist() == ["epoch 1", "epoch 2"]


def test_shares_come_with_a_table(workshop: Path, data_dir: Path) -> None:
    data = draw("response-shares", workshop, data_dir, *QUICK, "--seeds", "2", "--norm", "spd")
    assert len(data) == 2 * 5
    assert ((data["channel"] > 0) & (data["channel"] < 1) & (data["both"] < data["window"])).all()
    text = (workshop / "out" / "response-shares.md").read_text()
    assert re.search(r"\| SPDNet-BN\(m\) \| 2 \| [\d.]+ ± [\d.]+ \|", text)
    assert "| *even response* | | 12.5 | 4.5 | 35.2 | 4.4 |" in text
    # Under another order of the channels the same row of the files goes by another name.
    names = ",".join(("Oz", *[name for name in CHANNELS if name != "Oz"]))
    renamed = draw("response-shares", workshop, data_dir, *QUICK, "--norm", "spd", "--channel-names", names)
    heat = draw("fig-heat1", workshop, data_dir, *QUICK)
    first = heat.iloc[:8, 3:].to_numpy()
    assert renamed["channel"][0] == pytest.approx(first[0].sum() / first.sum(), rel=1e-6)


def test_trained_planes(workshop: Path, data_dir: Path) -> None:
    planes = [*QUICK, "--set", "model.options.dims=[15, 2]"]
    film = draw("training-animation", workshop, data_dir, *planes)
    assert film.groupby(["epoch", "step"]).size().unique().tolist() == [100]
    with Image.open(workshop / "out" / "training-animation.gif") as gif:
        assert gif.n_frames == 2
    cone = draw("ill-condition", workshop, data_dir, *planes)
    determinant = cone["x11"] * cone["x22"] - cone["x12"] ** 2
    assert (determinant > 0).all()
    ellipses = draw("ellipses", workshop, data_dir, *planes)
    # Three ways to the same features: the layer in the network, and the layer step by step.
    columns = ["x11", "x22", "x12"]
    np.testing.assert_allclose(
        ellipses.loc[ellipses["step"] == "output", columns], cone.loc[cone["step"] == "after", columns], rtol=1e-9
    )


def test_a_euclidean_network_has_responses_too(workshop: Path, data_dir: Path) -> None:
    eegnet = ["--set", "model.name=eegnet", "--set", "train.dtype=float32", "--set", "train.epochs=1"]
    data = draw("fig-topo", workshop, data_dir, *eegnet, "--norm", "none", "--progress", "off")
    assert data["row"].unique().tolist() == ["eegnet"]


def test_a_run_by_its_folder(workshop: Path, data_dir: Path, tmp_path: Path) -> None:
    heat = draw("fig-heat1", workshop, data_dir, *QUICK)
    configs = [(path.parent, json.loads(path.read_text())) for path in (workshop / "runs").glob("runs/*/config.json")]
    (folder,) = (f for f, c in configs if c["model"]["norm"] == "spd" and c["seed"] == 0)
    call("fig-heat", "--run", str(folder), "--data-dir", str(data_dir), "--out", str(tmp_path), *SMALL)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "fig-heat.csv"), heat)


def test_the_cone_opens_in_a_browser_without_console_errors(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium on PATH: install Debian's package chromium to run this test")
    call("ill-condition", "--out", str(tmp_path), *SMALL)
    page = tmp_path / "ill-condition.html"
    text = page.read_text()
    assert not re.search(r"https?://|src=|import ", text)
    # What a reader does, at once: turn, come closer, slide to the end.
    acted = tmp_path / "acted.html"
    acts = """<script>
      for (const key of ["ArrowLeft", "ArrowUp", "+", "-"]) canvas.dispatchEvent(new KeyboardEvent("keydown", {key}));
      canvas.dispatchEvent(new PointerEvent("pointermove", {buttons: 1}));
      canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: 10}));
      const before = told.textContent; slider.value = 1; slider.dispatchEvent(new Event("input"));
      document.body.dataset.told = before + " -> " + told.textContent;
    </script></body>"""
    acted.write_text(text.replace("</body>", acts))

    def look(address: str) -> subprocess.CompletedProcess[str]:
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        logs = ["--enable-logging=stderr", "--v=0", f"--user-data-dir={tmp_path / 'profile'}"]
        command = [browser, *flags, *logs, "--dump-dom", address]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    done = look(acted.as_uri())
    assert re.findall(r".*:CONSOLE.*", done.stderr) == []
    told = re.search(
        r'data-told="60 matrices, median κ = ([\d.e+]+) -&gt; 60 matrices, median κ = ([\d.]+)"', done.stdout
    )
    assert told is not None
    data = pd.read_csv(tmp_path / "ill-condition.csv").groupby("step")["condition"]
    # The page counts in JavaScript from the same matrices; its median is the upper of the two in the middle.
    for shown, step in zip(told.groups(), ("before", "after"), strict=True):
        values = np.sort(data.get_group(step))
        assert float(shown) == pytest.approx(values[30], rel=0.01)
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("function draw()", "function drawn_elsewhere()"))
    assert re.findall(r".*:CONSOLE.*", look(broken.as_uri()).stderr) != []


def test_list_names_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    call("--list")
    told = capsys.readouterr().out
    assert all(name in told for name in figure_names())


#: Labels of the paper's figures; that of the table whose curves are a figure stands with them.
LABELS = (
    "fig-heat", "fig-topo", "topo", "fig-heat1", "fig-topo1", "fig:ill-condition", "tab:metric", "arch: GBWBN", "fig-bp"
)  # fmt: skip


def test_every_figure_of_the_paper_goes_by_its_label() -> None:
    assert {ALIASES.get(label, label) for label in LABELS} <= set(figure_names())
    paper = Path(__file__).parents[3] / "shared" / "paper.tex"
    if paper.is_file():
        drawn = re.findall(r"\\begin\{figure\*?\}(.*?)\\end\{figure\*?\}", paper.read_text(), re.DOTALL)
        labels = {label for text in drawn for label in re.findall(r"\\label\{(.*?)\}", text)}
        assert labels
        assert labels <= set(LABELS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fig-nothing"], "there are fig-heat"),
        (["fig-heat", "--part", "train,test"], "choose from train"),
        (["fig-heat", "--window", "soon"], "FIRST-LAST"),
        (["fig-heat", "--window", "0.6-0.2"], "before the last"),
        (["metric-maps", "--format", "bmp"], "choose from png"),
        (["fig-heat", "--run", "nowhere"], "RESULTS/runs/HASH"),
        (["fig-heat", "--run", "nowhere", "--norm", "gbw"], "the one or the other"),
        (["ellipses", "--norm", "none"], "one normalisation layer"),
        (["ill-condition", "--norm", "gbw", "--norm", "spd"], "one normalisation layer"),
    ],
)
def test_refusals_say_what_to_do(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert says in refusal(capsys, *arguments, "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_matrices_have_no_channels_and_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from spdnorm.experiments import Store, load_recipe
    from spdnorm.experiments.run import run

    config, store = load_recipe("demo").entries(quick=True)[0].config, Store(tmp_path)
    run(config, store=store)
    folder = store.run(config).path
    assert "network on signals" in refusal(capsys, "fig-heat", "--run", str(folder), "--out", str(tmp_path / "out"))
