"""Publish classifiers without a network on the networks' own splits: docs/results/baselines.md and .csv.

python scripts/make_baselines.py    # needs the data, no results; about two minutes
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from spdnorm.experiments import BASELINES, baseline_accuracies, load_recipe
from spdnorm.experiments.report import Grid, Text, to_markdown

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "results"

SHRUNK = {"shrinkage": "oas", "ddof": 0}
#: Nothing is selected, so that no training sample need be put aside.
ALL = {"data.split.validation": 0.0}
#: 2 Hz about each flicker frequency. Of 0.7, 1, 1.5, 2 and 2.5 Hz, this was best with the tangent space on 6 subjects,
#: trained on sessions 1 and 2 and read on session 3 (42, 49, 52, 55 and 53 %).
MAMEM_BANDS = [[f - 2.0, f + 2.0] for f in (6.66, 7.5, 8.57, 10.0, 12.0)]
FEATURES: dict[str, dict[str, dict[str, Any]]] = {
    "broadband": {"mamem_acc": {"data.covariance": SHRUNK}, "ssvep_exoskeleton": {**ALL, "data.bands": []}},
    "filter bank": {"mamem_acc": {"data.covariance": SHRUNK, "data.bands": MAMEM_BANDS}, "ssvep_exoskeleton": ALL},
}
#: Recipe, its column, its row, the part that is read, and what the table calls it.
COLUMNS = (
    ("mamem_acc", "mamem", "spdnet", "test", "MAMEM-SSVEP-II: session 5"),
    ("mamem_acc", "mamem", "spdnet", "validation", "MAMEM-SSVEP-II: session 4"),
    ("ssvep_exoskeleton", "within", "spdnet", "test", "SSVEP exoskeleton: within sessions"),
    ("ssvep_exoskeleton", "across", "spdnet", "test", "SSVEP exoskeleton: across sessions"),
    ("ssvep_exoskeleton", "adapted", "spdbn", "test", "SSVEP exoskeleton: across, recentred"),
    ("ssvep_exoskeleton", "domains", "spdbn", "test", "SSVEP exoskeleton: across, recentred by session"),
)
NOTES = (
    "pyRiemann's classifiers as they are set up by default, on the samples that the networks of `mamem_acc` and "
    "`ssvep_exoskeleton` train and are tested on. MAMEM-SSVEP-II: sessions 1 to 3 train, nothing is chosen on 4, so "
    "that 4 and 5 are two test sessions. SSVEP exoskeleton: the classifiers need no validation and train on the "
    "quarter that the networks validate on as well.",
    "Broadband: the 8 × 8 covariance of a signal. Filter bank: that of the signal band-passed about every flicker "
    "frequency, all bands side by side (40 × 40, ± 2 Hz; 24 × 24, ± 1 Hz), the widths chosen on training sessions. "
    "Shrinkage OAS in both.",
    "Recentred: training sessions and test session, or each session, are whitened by their own Riemannian mean, "
    "without labels: what adapted and domain-specific statistics are to the networks.",
    "± is the standard deviation over subjects (within sessions: over recordings, each the average over 5 blocks). No "
    "seed is involved.",
)


def accuracies() -> Iterable[dict[str, Any]]:
    """One line for each classifier, features, column and run."""
    known: dict[tuple[str, str, bool], dict[str, float]] = {}
    for (features, changes), name in product(FEATURES.items(), BASELINES):
        for recipe, column, row, part, title in COLUMNS:
            entries = load_recipe(recipe).entries(rows=(row,), columns=(column,), overrides=changes[recipe])
            # Replicates that differ in the seed alone are one to a classifier that has none.
            for text, entry in {entry.config.data.model_dump_json(): entry for entry in entries}.items():
                data, recentred = entry.config.data, bool(entry.config.train.adapt)
                key = (name, text, recentred)
                if key not in known:
                    known[key] = baseline_accuracies(name, data, recentred=recentred)
                yield {
                    "classifier": BASELINES[name],
                    "features": features,
                    "column": title,
                    "member": entry.member + 1,
                    "fold": data.split.fold,
                    "accuracy": known[key][part],
                }


def page(lines: Iterable[Mapping[str, Any]]) -> str:
    """The table, and what has to be said with it."""
    cells: dict[tuple[str, str], dict[int, list[float]]] = {}
    for line in lines:
        row = f"{line['classifier']}, {line['features']}"
        cells.setdefault((row, line["column"]), {}).setdefault(line["member"], []).append(100 * line["accuracy"])
    members = {key: [mean(values) for values in found.values()] for key, found in cells.items()}
    rows, columns = (list(dict.fromkeys(key[i] for key in cells)) for i in (0, 1))
    best = {column: max(mean(members[row, column]) for row in rows) for column in columns}
    body = [
        [Text(_number(members[row, column]), best=mean(members[row, column]) == best[column]) for column in columns]
        for row in rows
    ]
    grid = Grid(row_title="Classifiers", header=[("", column) for column in columns], labels=rows, body=body)
    text = to_markdown(grid, title="Accuracy (%) without a network", facts=NOTES).replace("## ", "# ", 1)
    return f"{text}\nEvery run: [baselines.csv](baselines.csv). `python scripts/make_baselines.py` writes both.\n"


def _number(values: list[float]) -> str:
    return f"{mean(values):.2f} ± {stdev(values):.2f}"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    lines = list(accuracies())
    text = io.StringIO()
    writer = csv.DictWriter(text, lines[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "baselines.csv").write_text(text.getvalue(), encoding="utf-8")
    (FOLDER / "baselines.md").write_text(page(lines), encoding="utf-8")
    print("wrote docs/results/baselines.md and .csv")


if __name__ == "__main__":
    main()
