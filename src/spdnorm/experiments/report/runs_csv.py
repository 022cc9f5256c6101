"""Every finished run of a table as a line of CSV: what the means are made of, and where it came from."""

from __future__ import annotations

import csv
import io

from ..files import read_json
from ..readings import PROTOCOLS
from ..table import Table

__all__ = ["to_csv"]

COLUMNS = (
    "row",
    "column",
    "replicate",
    "member",
    "seed",
    *(f"{protocol}_{what}" for protocol in PROTOCOLS for what in ("accuracy", "epoch")),
    "epochs",
    "seconds_per_epoch",
    "commit",
    "run",
)


def to_csv(table: Table) -> str:
    """Return a header and a line for each finished run, in the order of the table."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for place in table.places:
        result = table.result(place)
        if result is None:
            continue
        file = table.folder(place).environment_file
        environment = read_json(file) if file.is_file() else {}
        line = {
            "row": place.row,
            "column": place.column,
            "replicate": place.replicate,
            "member": place.member,
            "seed": result["seed"],
            "epochs": result["config"]["train"]["epochs"],
            "seconds_per_epoch": f"{result['seconds_per_epoch']:.4g}",
            "commit": environment.get("commit") or environment.get("spdnorm", ""),
            "run": place.hash,
        }
        for protocol in PROTOCOLS:
            reading = result["readings"].get(protocol)
            if reading is not None:
                line |= {f"{protocol}_accuracy": reading["accuracy"], f"{protocol}_epoch": reading["epoch"]}
        writer.writerow(line)
    return text.getvalue()
