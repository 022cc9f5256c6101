"""docs/reliability.md and its figure, from what scripts/measure_reliability.py has measured."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from matplotlib import rc_context
from matplotlib.figure import Figure
from tests.bad_input.callables import EVERYTHING
from tests.bad_input.damage import UNUSUAL, WRONG, WRONG_FOR_PARAMETERS, WRONG_FOR_SPD
from tests.bad_input.test_bad_input import MATRIX_DAMAGE, SIGNAL_DAMAGE
from tests.state.makers import MODULES

from spdnorm.testing.fuzz import TARGETS, Case
from spdnorm.testing.fuzz.bounds import CONSTANT, LEAST, error_bound

ROOT = Path(__file__).resolve().parents[2]
PATH = "docs/reliability.md"
FIGURE = "docs/figures/reliability.svg"
MEASURED = ROOT / "docs" / "_data" / "reliability.json"
DTYPES = ("float32", "float64")
#: Columns of the table of errors, powers of ten.
SHOWN = (1, 3, 5, 7, 9, 11, 13, 15)
#: Eight colours that the colour-blind can tell apart, and a marker each.
COLORS = ("#000000", "#e69f00", "#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7", "#999999")
MARKERS = "os^vDPX*"
GROUPS = {
    "norm": "normalisation layers, training and evaluation",
    "extreme": "the same, extreme s, theta, M and G",
    "metric": "geometries, every operator",
    "function": "matrix functions",
    "layer": "other layers and networks",
    "estimator": "estimators, fit and predict",
}


def bound(dtype: str, condition: float, size: int) -> float:
    """The stated bound, theta up to 1; infinite where rounding may have made the samples singular."""
    kind = {"dtype": getattr(torch, dtype), "kind": "generic", "scale": 1.0}
    return error_bound(Case(seed=0, n=size, batch=6, condition=condition, **kind))


def draw(errors: dict[str, Any], path: Path) -> None:
    """Worst error of each layer by condition number, a panel a dtype, below the bound."""
    conditions = [10.0**decade for decade in errors["decades"]]
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, dtype in zip(axes, DTYPES, strict=True):
        for (name, rows), color, marker in zip(errors["layers"].items(), COLORS, MARKERS, strict=True):
            values = [float("nan") if e is None else e for e in rows[dtype]]
            axis.plot(conditions, values, marker=marker, markersize=4, linewidth=1, color=color, label=name)
        bounds = [bound(dtype, c, errors["size"]) for c in conditions]
        axis.plot(conditions, bounds, "k--", linewidth=1.5, label="bound")
        axis.axhline(torch.finfo(getattr(torch, dtype)).eps, color="gray", linewidth=0.8, linestyle=":")
        axis.set(xscale="log", yscale="log", title=dtype, xlabel="condition number of the samples", ylim=(1e-17, 1e2))
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("worst relative error (dots: one rounding)")
    axes[1].legend(fontsize=8, ncols=2, loc="upper left")
    with rc_context({"svg.hashsalt": "reliability"}):
        figure.savefig(path, metadata={"Date": None})


def _table(*lines: list[str]) -> str:
    head, *rest = lines
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rest)) + "\n"


def _fuzzing(fuzz: dict[str, Any]) -> str:
    tried, refused, names = Counter(), Counter(), Counter(t.partition(" ")[0] for t in TARGETS)
    for counts, total in ((fuzz["tried"], tried), (fuzz["refused"], refused)):
        for target, matrices in counts.items():
            total[target.partition(" ")[0]] += matrices
    rows = [[text, str(names[g]), f"{tried[g]:,}", f"{refused[g]:,}"] for g, text in GROUPS.items()]
    kinds = Counter()
    for kind, matrices in fuzz["kinds"].items():
        kinds[kind.partition(" ")[0]] += matrices
    drawn = ", ".join(f"{kind.replace('_', ' ')} {n:,}" for kind, n in sorted(kinds.items()))
    return f"""## Hostile matrices

**{fuzz["matrices"]:,} matrices in {fuzz["cases"]:,} cases, {fuzz["violations"]} violations**, in
{fuzz["seconds"] / 60:.0f} minutes with {fuzz["processes"]} processes on a busy machine. Sizes 1 to 128, batches 1 to
512, float32 and float64, condition numbers 1 to 1e15, scales 1e-12 to 1e12. Matrices by kind: {drawn}.

{_table(["what", "targets", "matrices", "of these refused"], *rows)}
What must hold: results are symmetric, positive semi-definite and finite, and so are gradients and running statistics;
evaluation with the statistics of a batch gives what training gave; float32 stays near float64. *Refused*: an error that
names the argument, which is allowed only where rounding may have made a matrix singular and the method needs definite
ones, or where extreme parameters leave the range of the dtype. Gradients under extreme parameters must be finite
as long as the squares of all eigenvalues on the way are in that range.

`python -m spdnorm.testing.fuzz --matrices 1000000` runs it, each violation is printed with the seed that draws it
again; `make test-full` does the same, `make test` a fixed sample. What was found is a test now, by its seed.
"""


def _accuracy(errors: dict[str, Any]) -> str:
    conditions = [f"1e{decade}" for decade in SHOWN]
    lines = []
    for name, rows in errors["layers"].items():
        for dtype in DTYPES:
            values = [rows[dtype][decade] for decade in SHOWN]
            lines.append([name, dtype, *("–" if v is None else f"{v:.0e}" for v in values)])
    kinds = ", ".join(kind.replace("_", " ") for kind in errors["kinds"])
    size, batch = errors["size"], errors["batch"]
    return f"""## Errors against 50 digits

A normalised sample is within

$$ 10^{{{math.log10(CONSTANT):.0f}}} \\; n \\; \\varepsilon \\; \\max(\\kappa, {LEAST:.0f})^{{\\max(\\theta, 1)}} $$

of the exact one, relative to its Frobenius norm: n the size, epsilon the dtype's (1.2e-7 or 2.2e-16), kappa the
samples' condition number. It is promised in training and in evaluation, for M and G of a condition number up to 10,
four samples or more that are not all equal (or the variance that is divided out is rounding), and as long as
`kappa n epsilon < 0.01`: beyond, rounding may have made the samples singular before the layer sees them.

![Worst relative error by condition number, float32 and float64](figures/reliability.svg)

The worst of {batch} samples {size} x {size} of each kind ({kinds}), against the textbook formulas in 50-digit
arithmetic (`tests/fuzz/oracle.py`), in training. A dash: refused, or rounding to the dtype has made a sample
indefinite. At condition number 1 the spread of the samples is rounding, and dividing by it enlarges that.

{_table(["layer", "dtype", *conditions], *lines)}"""


def _passed(tests: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    """The recorded outcomes of tests by the start of their name; those must be there and have passed."""
    found = [entry for name in names for key, entry in tests.items() if key.startswith(name)]
    if not found or not all(entry["passed"] for entry in found):
        raise SystemExit(f"{', '.join(names)}: not measured, or failed")
    return found


def _processes(tests: dict[str, Any]) -> str:
    _passed(tests, "test_sync.test_every_layer", "test_sync.test_ddp", "test_launchers")
    ranks = sorted({int(key.partition("[")[2][:-1]) for key in tests if key.startswith("test_sync") and "[" in key})
    (random_kills,) = _passed(tests, "test_faults.test_killed_at_many_moments")
    _passed(tests, "test_faults.test_a_full_disk")
    return f"""## Several processes

{" and ".join(map(str, ranks))} gloo processes: barycentre, variance, outputs, gradients of first and second order of
every normalisation equal those of one process with the whole batch to 1e-10, with unequal and empty local batches, by
all-reduced sums; SPDNet trained for 20 steps with DDP equals one process parameter by parameter. Under `torchrun` a
rank that is killed ends the job with an error, and the next call continues from the checkpoint.

## Killed, and out of space

**{random_kills["kills"]} kills (SIGKILL) at random moments of one run**, each of the process that has continued from
the one before: it ends in the same bits as a run that was left alone. Another test kills at each moment at which a file
is written, renamed or removed.
A full disk in the middle of a checkpoint is an error that says so and leaves the one before, which continues.

State dicts carry a version, and a way from each version to the next; a stored checkpoint of each of {len(MODULES)}
layers and networks loads and computes what it did. Files that are truncated, foreign, or hold code are errors, and
run nothing.
"""


def _long(tests: dict[str, Any]) -> str:
    keys = [key for key in tests if key.startswith("test_long_run.test_20_000_steps")]
    if not keys:
        return ""
    _passed(tests, *keys)
    rows = []
    for key in keys:
        run = tests[key]
        cells = [f"{float(run[name]):.0e}" for name in ("skew", "drift", "least")]
        memory = [f"{int(run['peak_kb']) / 1024:.0f} MB", f"{int(run['growth_kb']) / 1024:.1f} MB"]
        rows.append([key.partition("[")[2][:-1], f"{int(run['steps']):,}", *cells, *memory, f"{run['seconds']:.0f} s"])
    head = "parameters | steps | asymmetry | off orthogonality | least eigenvalue | peak memory | grown by | time"
    return f"""## Long runs

SPDNet with GBWBN at a large learning rate (Adam 0.05, Riemannian SGD 0.1) on samples of condition numbers 1e3 to
1e11, in float64. *Grown by*: peak memory since a quarter of the way.

{_table(head.split(" | "), *rows)}
Parameters stay positive definite in floating point however far they wander: eigenvalues further below the
largest than 10 n epsilon are raised to that, under torch parametrisations and in Riemannian steps.
"""


def _input() -> str:
    wrong = [*WRONG, *WRONG_FOR_PARAMETERS, *WRONG_FOR_SPD]
    estimators = sorted({*MATRIX_DAMAGE, *SIGNAL_DAMAGE})
    return f"""## Bad input

{len(EVERYTHING)} layers, functions and operators of a metric are given every one of these {len(wrong)} kinds that is
wrong for them, and answer with an error that names the argument: {", ".join(wrong)}.

{len(UNUSUAL)} unusual kinds give what a plain copy gives: {", ".join(UNUSUAL)}. An empty batch comes back empty, or is
refused where a mean is asked for. Estimators are given {len(estimators)} kinds, in fit and after:
{", ".join(estimators)}.
"""


TAIL = """## Threads, caches, downloads

One model in evaluation gives the same bits from four threads as from one, outputs and gradients; switches
(`checks`, `eigh_backend`) belong to their thread. Two processes that fill one data cache download once; an interrupted
download resumes, a killed one leaves nothing that passes for data.

## Supply chain

CI installs from pins (`constraints.txt`), the package is bounded below the next major version of what it stands on,
`make test-full` asks pip-audit for known vulnerabilities and says so where its database cannot be reached. Checkpoints
are read with `weights_only=True`; recipes are data: they name what the library has, and evaluate nothing.
"""


HEAD = """# Reliability

Written by `make tables` from what `scripts/measure_reliability.py` has measured; the digits change a little from
machine to machine.
"""


def page(measured: dict[str, Any]) -> str:
    tests = measured["tests"]
    parts = [HEAD, _fuzzing(measured["fuzz"]), _accuracy(measured["errors"]), _input(), _processes(tests), _long(tests)]
    return "\n".join([*parts, TAIL])


def render() -> str:
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    draw(measured["errors"], ROOT / FIGURE)
    return page(measured)
