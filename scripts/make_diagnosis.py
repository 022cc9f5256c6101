"""Publish why methods differ: docs/results/diagnosis.md, .csv and pictures, from the runs of a table.

python scripts/make_diagnosis.py --results runs    # mamem_acc is there; trains 3 subjects more, to watch them
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import spearmanr

from spdnorm.experiments import Execution, Store, Table, inspect_normalisation, load_tables
from spdnorm.experiments.report import Grid, Text, to_markdown
from spdnorm.figures import Drawn, TrainedRun, draw_learning_curves, learning_table, open_run, save, train_run
from spdnorm.figures.style import category, style

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "results"
ROWS = ("spdnet", "spdbn", "spdmbn", "liebn", "gbwbn")
WATCHED = ("liebn", "gbwbn")
COLUMN = "mamem"

STATES = """\
Medians over {members} subjects of the mean over {replicates} seed(s), from the weights of the chosen epoch
(smallest validation loss) and of the last. *κ*: median condition number of the features before and after the
normalisation, training sessions, evaluation mode. *Size*: geometric mean of their eigenvalues. *Length*: mean norm
of the vectors that the linear layer sees. *Separation*: between class means over within classes, of these vectors,
in the training sessions and in the test session. *Factor*: learned scale over running standard deviation, by which
deviations from the barycentre are stretched."""
GBW = """\
*Folds*: share of training samples for which I + V/2 is indefinite where they are centred, and after the stretch by
the factor. *Nearest*: median over samples of the least |eigenvalue| of the stretched I + V/2, whose square is an
eigenvalue of the feature about the identity. M and G: least and largest eigenvalue of the learned metric parameter
and bias (both start at I). *Scale*: learned, from 1. θ is 1 and not learned in these runs."""
WATCHING = """\
Subjects {subjects}, seed 0, trained anew with weights kept on the way, and these looked into as above: training
sessions, evaluation mode. A line is a subject."""


def states(table: Table, rows: Sequence[str], replicates: int) -> Iterable[dict[str, Any]]:
    """One line for each run and its chosen and last epoch."""
    for row in rows:
        for place in table.runs(row, COLUMN):
            result = table.result(place)
            if result is None or place.replicate >= replicates:
                continue
            run = open_run(table.folder(place).path, data_dir=None)
            metrics = pd.read_csv(run.folder.metrics_file).set_index("epoch")
            chosen = result["readings"]["paper"]["epoch"]
            for when, epoch, model in (("chosen", chosen, run.model()), ("last", metrics.index[-1], run.model("last"))):
                numbers = metrics.loc[epoch]
                found = inspect_normalisation(model, run.part("train"))
                yield {
                    "row": row,
                    "member": place.member,
                    "replicate": place.replicate,
                    "when": when,
                    "epoch": epoch,
                    **{key: numbers[key] for key in ("train_loss", "validation_loss")},
                    **{f"{part}_accuracy": 100 * numbers[f"{part}_accuracy"] for part in ("train", "test")},
                    **found,
                    "test_separation": inspect_normalisation(model, run.part("test"))["separation"],
                }


def grid_of(data: pd.DataFrame, columns: dict[str, str], labels: dict[str, str]) -> Grid:
    """Medians over members of means over replicates."""
    means = data.groupby(["row", "when", "member"], sort=False)[list(columns)].mean()
    shown = means.groupby(["row", "when"], sort=False).median()
    return Grid(
        row_title="Model",
        header=[("", title) for title in columns.values()],
        labels=[f"{labels[row]}, {when}" for row, when in shown.index],
        body=[[Text("–" if pd.isna(v) else f"{v:.3g}") for v in line] for line in shown.to_numpy()],
    )


def watch(table: Table, folder: Path, subjects: Sequence[int]) -> list[TrainedRun]:
    """Train a few runs of the table again, keeping weights on the way."""
    entries = [
        entry
        for entry in table.recipe.entries(rows=WATCHED, columns=(COLUMN,), replicates=1)
        if entry.member + 1 in subjects
    ]
    return [train_run(entry.config, store=Store(folder), execution=Execution()) for entry in entries]


def draw_watched(runs: Sequence[TrainedRun]) -> Drawn:
    """Condition numbers in training for every run; folds, factor and metric where there are some."""
    frames = [_history(run) for run in runs]
    panels = (
        (("condition_before", "condition_after"), "condition number κ", "log"),
        (("folds_centring", "folds_scaling"), "share of samples that fold", "linear"),
        (("factor", "nearest"), "factor, nearest", "log"),
        (("metric_min", "metric_max"), "eigenvalues of M", "log"),
    )
    with style():
        figure = Figure(figsize=(8.6, 6.0))
        for axis, (keys, title, scale) in zip(figure.subplots(2, 2).flatten(), panels, strict=True):
            looks = [(label, key) for label in dict.fromkeys(run.label for run in runs) for key in keys]
            for run, frame in zip(runs, frames, strict=True):
                for key in keys:
                    if key in frame:
                        i = looks.index((run.label, key))
                        look = category(i) | {"marker": None, "linewidth": 1.0}
                        axis.plot(frame["epoch"], frame[key], label=f"{run.norm_label} {key.replace('_', ' ')}", **look)
            axis.set(xlabel="epoch", ylabel=title, xscale="log", yscale=scale)
            handles = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
            axis.legend(handles.values(), handles.keys(), loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return Drawn(figure=figure, data=pd.concat(frames, ignore_index=True))


def _history(run: TrainedRun) -> pd.DataFrame:
    lines = [{"epoch": e, **inspect_normalisation(run.model(e), run.part("train"))} for e in run.epochs]
    subject = run.config.data.options["subjects"][0]
    return pd.DataFrame(lines).assign(method=run.label, subject=subject, seed=run.config.seed)


def page(table: Table, data: pd.DataFrame, watched: Sequence[TrainedRun]) -> str:
    """All tables with what their columns are, and the pictures."""
    labels = {row.key: row.label for row in table.recipe.rows}
    shared = {
        "epoch": "epoch",
        "train_loss": "training loss",
        "validation_loss": "validation loss",
        "train_accuracy": "training accuracy (%)",
        "test_accuracy": "test accuracy (%)",
        "condition_before": "κ before",
        "condition_after": "κ after",
        "size_before": "size before",
        "size_after": "size after",
        "length": "length",
        "separation": "separation, training",
        "test_separation": "separation, test",
        "factor": "factor",
    }
    own = {
        "folds_centring": "folds, centring",
        "folds_scaling": "folds, scaling",
        "nearest": "nearest",
        "metric_min": "M least",
        "metric_max": "M largest",
        "bias_min": "G least",
        "bias_max": "G largest",
        "scale": "scale",
        "factor": "factor",
    }
    facts = STATES.format(members=data["member"].nunique(), replicates=data["replicate"].nunique())
    subjects = sorted({run.config.data.options["subjects"][0] for run in watched})
    parts = [
        "# What the networks of mamem_acc do: curves, condition numbers, folds, the learned metric\n",
        "What it amounts to is in [Results so far](README.md).\n",
        "## Learning curves\n\nMean over subjects; the band is one standard deviation over seeds to each side.\n",
        "![Learning curves](diagnosis-curves.png)\n",
        to_markdown(grid_of(data, shared, labels), title="Chosen and last epoch", facts=[facts]),
        to_markdown(grid_of(data[data["row"] == "gbwbn"], own, labels), title="Inside of GBWBN", facts=[GBW]),
        to_markdown(by_subject(data), title="Subject by subject", facts=[correlations(data)]),
        f"## Epoch by epoch\n\n{WATCHING.format(subjects=', '.join(map(str, subjects)))}\n",
        "![Epoch by epoch](diagnosis-epochs.png)\n",
        "Numbers: [diagnosis.csv](diagnosis.csv) (every run, chosen and last epoch), "
        "[diagnosis-curves.csv](diagnosis-curves.csv), [diagnosis-epochs.csv](diagnosis-epochs.csv). "
        "`python scripts/make_diagnosis.py` writes this page.\n",
    ]
    return "\n".join(parts)


def _chosen(data: pd.DataFrame) -> pd.DataFrame:
    last = data[data["when"] == "chosen"].groupby(["row", "member"]).mean(numeric_only=True)
    found = last.loc["gbwbn"].copy()
    found["difference"] = found["test_accuracy"] - last.loc["liebn", "test_accuracy"]
    return found.sort_values("difference")


def by_subject(data: pd.DataFrame) -> Grid:
    """GBWBN at its chosen epoch, subjects in the order of what it loses against LieBN."""
    columns = {
        "difference": "GBWBN - LieBN, test accuracy",
        "test_accuracy": "GBWBN, test accuracy (%)",
        "epoch": "epoch",
        "condition_before": "κ before",
        "condition_after": "κ after",
        "folds_centring": "folds, centring",
        "folds_scaling": "folds, scaling",
        "nearest": "nearest",
        "factor": "factor",
    }
    found = _chosen(data)
    return Grid(
        row_title="Subject",
        header=[("", title) for title in columns.values()],
        labels=[str(int(member) + 1) for member in found.index],
        body=[[Text(f"{v:.3g}") for v in line] for line in found[list(columns)].to_numpy()],
    )


def correlations(data: pd.DataFrame) -> str:
    """Rank correlation of the loss against LieBN with what GBWBN's features are like."""
    found = _chosen(data)
    names = {"condition_before": "κ before", "condition_after": "κ after", "folds_centring": "folds at centring"}
    texts = []
    for key, name in names.items():
        rank = spearmanr(found["difference"], found[key])
        texts.append(f"{name} {rank.statistic:+.2f} (p = {rank.pvalue:.2f})")
    return f"Spearman's rank correlation of the difference, over subjects, with {', '.join(texts)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("runs"))
    parser.add_argument("--watched", type=Path, default=Path("runs/watched"), help="where to train what is watched")
    parser.add_argument("--subjects", type=int, nargs="+", default=[1, 7, 11], help="that are watched")
    parser.add_argument("--replicates", type=int, default=5, help="seeds to look into")
    options = parser.parse_args()
    (table,) = load_tables(Store(options.results), ["mamem_acc"])
    data = pd.DataFrame(states(table, ROWS, options.replicates))
    watched = watch(table, options.watched, options.subjects)
    FOLDER.mkdir(parents=True, exist_ok=True)
    data.to_csv(FOLDER / "diagnosis.csv", index=False, float_format="%.5g", lineterminator="\n")
    curves = learning_table(table, COLUMN, ROWS).round(5)
    curves = curves[(curves["epoch"] <= 20) | (curves["epoch"] % 5 == 0)]
    save(draw_learning_curves(curves), FOLDER, "diagnosis-curves", formats=("png",), dpi=110)
    save(draw_watched(watched), FOLDER, "diagnosis-epochs", formats=("png",), dpi=110)
    (FOLDER / "diagnosis.md").write_text(page(table, data, watched), encoding="utf-8")
    print("wrote docs/results/diagnosis.md, .csv and two pictures with theirs")


if __name__ == "__main__":
    main()
