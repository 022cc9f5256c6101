"""docs/normalisation.md: methods x what they control, cost, agree with, endure. All cells are measured."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch
from tests.norm import test_laws as suites
from tests.norm import transcription

from spdnorm.geometry import GeneralizedBuresWasserstein
from spdnorm.nn import GBWBatchNorm, RiemannianBatchNorm
from spdnorm.testing import count_decompositions, spd_matrices
from spdnorm.testing.norm_laws import NormLaws, randomize

PATH = "docs/normalisation.md"
SIZE, BATCH = 6, 24

HEAD = f"""# Normalisation layers: what holds

Written by `make tables` from the code (`scripts/tables/norms.py`); a test holds the table to the code.

Matrices {SIZE} x {SIZE}, batches of {BATCH}, float64 unless said otherwise, random parameters. *Controls*: under the
method's own metric, with the barycentre converged and nothing folded, the output's mean is the bias and its variance
scale^2. *eigh*: eigendecompositions a sample, in training / evaluation, where nothing folds; the n x n ones of
barycentre and parameters come on top, backward passes spend none. *Agreement*: relative difference in training from an
implementation that shares no code with this one: Alg. 1 of the paper sample by sample in SciPy (condition number 50,
where samples do fold), or spd-learn. *float32*: relative error at condition number 100. *Compile*: one graph, forward
and backward; *export*: of evaluation, for any batch size. Numbers are rounded up to powers of ten.
"""

NOTES = """## What the names mean

- **GBWBN**, **BWBN** (`gbw`, `bw`): the paper's Alg. 1 with its folding: where a sample lies outside the domain of the
  exponential at I, Log_I . Exp_I folds it back, as the composition of the paper's equations does. On the CPU a look at
  the data tells which samples fold, and the others spend nothing on it; where that is not possible or would make a GPU
  wait, all take the form without the branch, with the same result: one more eigendecomposition a sample on a GPU, two
  more in a compiled program (one without a bias).
- **GBWBN, reference** (`variant="reference"`): the paper's released script (`spdnorm.functional.reference`).
- **SPDBN** (`spd`), **SPDMBN** (`spdm`), by domain `DomainBatchNorm(SPDMomentumBatchNorm(...), domains)` (SPDDSMBN).
- **ManifoldNorm** (`manifold`): the publication gives homogeneous spaces in general and no formulas for SPD matrices;
  which quantity its Algorithms 1 and 2 scale by is our reading, stated in `spdnorm.functional.manifold_norm`. The
  paper's tables count mean and variance for it: that is `algorithm=2`.
- **LieBN** (`lie`): AIM centres and biases by the group's own translation, with Cholesky factors; `translation="eigen"`
  takes square roots instead, as SPDBN does. The outputs differ by rotations, their spectra do not. LEM and LCM are
  additions of logarithms and of log-Cholesky factors. `alpha`, `beta` weigh the inner product (AIM, LEM).
- With its schedule held at 1, SPDMBN is ManifoldNorm's Algorithm 2 under AIM, and LieBN with `translation="eigen"`.

## What to know

- **Statistics are in the graph** (`stats_grad=True`). Measured on MAMEM-SSVEP-II (GBWBN, 6 subjects x 3 seeds, 60
  epochs, accuracy on the validation session 4, mean of the last 10 epochs): 65.5 % with, 61.6 % without, paired
  difference 4.0 +- 1.4 (standard error) points.
- **Running means live where Alg. 1 keeps them**, in the Bures-Wasserstein space M^-1/2 X^theta M^-1/2. A learned M (or
  theta) moves that space under them, which the running average follows with its momentum; `refit` gives exact ones.
- **Singular input**: at theta = 1 nothing is added and nothing is inverted on a null space. For 0 < theta < 1 the
  derivative of X^theta is infinite at an eigenvalue 0; on the numerical null space (n eps times the largest eigenvalue)
  it is taken as 0, the derivative along matrices of constant rank. Where a method needs positive definite input, a
  singular one is an error; `floor=1e-6` raises eigenvalues first, by your choice.
- **Ill-conditioned input** is finite in float64, forward and backward, to a condition number of 1e14; methods that take
  the logarithm of samples whitened by the affine-invariant mean (SPDMBN, ManifoldNorm, LieBN AIM) to 1e13: beyond,
  rounding can make a whitened sample indefinite, which is an error (`floor` is the remedy).
- **A batch of one** has variance 0 and comes back as the bias (keep `eps` above 0); **an empty batch** comes back as it
  is, and no statistics move.

## Where spd-learn differs

Its mean-only layer and its three LieBN layers agree with `stats_grad=False`, forward and backward (to 1e-9, tested).
Held by a test so that a mended release is noticed: its running mean takes the shape of the data, so that with several
channels a checkpoint does not load; an empty batch is an error; and its mean-and-variance layer detaches the mean but
not the variance, so that its gradient is neither that of the layer nor that at fixed statistics.
"""


@dataclass(frozen=True)
class Row:
    """A method: the law suite that builds it, and the spd-learn layer to compare with."""

    title: str
    suite: type[NormLaws]
    peer: str = ""
    peer_options: tuple[tuple[str, Any], ...] = ()


class _Reference(suites.TestGBW):
    def make(self, n: int, **options: Any) -> RiemannianBatchNorm:
        return GBWBatchNorm(n, variant="reference", **options)

    def metric(self, layer: RiemannianBatchNorm) -> GeneralizedBuresWasserstein:
        return GeneralizedBuresWasserstein(layer.metric.detach())


_MEAN_VAR = ("SPDBatchNormMeanVar", (("n_iter", 1),))
ROWS = (
    Row("GBWBN, θ = 1", suites.TestGBW),
    Row("GBWBN, θ = 1/2", suites.TestGBWHalf),
    Row("GBWBN, θ = 1/4", suites.TestGBWQuarter),
    Row("GBWBN, θ = 3/4", suites.TestGBWThreeQuarters),
    Row("GBWBN, θ = -1/2", suites.TestGBWNegative),
    Row("GBWBN, θ learned from 1/2", suites.TestLearnableTheta),
    Row("GBWBN, reference", _Reference),
    Row("BWBN", suites.TestBW),
    Row("SPDBN", suites.TestSPD, "SPDBatchNormMean", (("n_iter", 1),)),
    Row("SPDMBN", suites.TestSPDMomentum, *_MEAN_VAR),
    Row("ManifoldNorm AIM, Alg. 1", suites.TestManifoldAIMFirst),
    Row("ManifoldNorm AIM, Alg. 2", suites.TestManifoldAIM, *_MEAN_VAR),
    Row("ManifoldNorm LEM, Alg. 1", suites.TestManifoldLEMFirst),
    Row("ManifoldNorm LEM, Alg. 2", suites.TestManifoldLEM, "SPDBatchNormLie", (("metric", "LEM"),)),
    Row("LieBN AIM", suites.TestLieAIM, "SPDBatchNormLie", (("metric", "AIM"),)),
    Row("LieBN AIM, eigen", suites.TestLieAIMEigen, *_MEAN_VAR),
    Row(
        "LieBN AIM, α = 0.7, β = 0.2",
        suites.TestLieAIMAlphaBeta,
        "SPDBatchNormLie",
        (("metric", "AIM"), ("alpha", 0.7), ("beta", 0.2)),
    ),
    Row("LieBN AIM, θ = 1/2", suites.TestLieAIMPower, "SPDBatchNormLie", (("metric", "AIM"), ("theta", 0.5))),
    Row(
        "LieBN LEM, α = 1.3, β = 0.1",
        suites.TestLieLEM,
        "SPDBatchNormLie",
        (("metric", "LEM"), ("alpha", 1.3), ("beta", 0.1)),
    ),
    Row("LieBN LCM", suites.TestLieLCM, "SPDBatchNormLie", (("metric", "LCM"),)),
    Row("LieBN LCM, θ = 1/2", suites.TestLieLCMPower, "SPDBatchNormLie", (("metric", "LCM"), ("theta", 0.5))),
)


def _layer(row: Row, **options: Any) -> Any:
    """The row's layer in float64 with random parameters, as it is without a schedule."""
    suite = row.suite()
    return randomize(suite.make(SIZE, dtype=torch.float64, **suite.plain, **options))


def _relative(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a.detach().double(), b.detach().double()
    return float((a - b).abs().max() / b.abs().max())


def _bound(error: float) -> str:
    return "0" if error == 0 else f"1e{math.ceil(math.log10(error))}"


def controls(row: Row) -> str:
    """Which statistics of the output come out as promised."""
    layer = _layer(row, mean_iterations=None, eps=0.0)
    metric = row.suite().metric(layer)
    out = layer(spd_matrices(SIZE, BATCH, condition=2.0)).detach()
    kept = []
    if _relative(metric.mean(out), layer.bias) < 1e-6:
        kept.append("mean")
    if layer.scale is not None and _relative(metric.variance(out, layer.bias.detach()), layer.scale**2) < 1e-6:
        kept.append("variance")
    return ", ".join(kept)


def parameters(row: Row) -> str:
    """Names of what is learned."""
    layer = _layer(row)
    names = ("metric", "bias", "scale", "theta")
    return ", ".join(n for n in names if isinstance(getattr(layer, n, None), torch.Tensor))


def decompositions(row: Row) -> str:
    """Eigendecompositions a sample in training and evaluation, where nothing folds."""
    layer, counts = _layer(row), []
    for training in (True, False):
        layer.train(training)
        seen = []
        for size in (BATCH, 2 * BATCH):
            with count_decompositions() as count:
                layer(spd_matrices(SIZE, size, condition=1.3))
            seen.append(count.eigh + count.svd)
        counts.append((seen[1] - seen[0]) // BATCH)
    return " / ".join(map(str, counts))


def agreement(row: Row) -> tuple[float, str] | None:
    """Relative difference from something that shares no code, and its name; None where there is nothing."""
    x = spd_matrices(SIZE, BATCH, condition=50.0)
    layer = _layer(row)
    if isinstance(layer, GBWBatchNorm):
        eye = torch.eye(SIZE).double().numpy()
        expected, *_ = transcription.gbwbn(
            x.numpy(),
            eye,
            1.0,
            m=eye if layer.metric is None else layer.metric.detach().numpy(),
            g=layer.bias.detach().numpy(),
            s=layer.scale.item(),
            theta=float(torch.as_tensor(layer.theta).detach()),
            training=True,
            momentum=0.1,
            eps=layer.eps,
            iterations=1,
            about_identity=layer.variant == "reference",
        )
        return _relative(layer(x), torch.from_numpy(expected)), "Alg. 1"
    if not row.peer:
        return None
    from spd_learn import modules

    options = dict(row.peer_options) | ({} if row.peer == "SPDBatchNormMean" else {"eps": layer.eps})
    peer = getattr(modules, row.peer)(num_features=SIZE, **options).double()
    suite = row.suite()
    plain = suite.make(SIZE, dtype=torch.float64, **suite.plain)
    return _relative(plain(x), peer(x.unsqueeze(1)).squeeze(1)), "spd-learn"


def _agreement(row: Row) -> str:
    found = agreement(row)
    return "laws only" if found is None else f"{_bound(found[0])} ({found[1]})"


def singular(row: Row) -> str:
    """What rank-deficient input does."""
    x = spd_matrices(SIZE, BATCH, kind="boundary", rank=3).requires_grad_()
    try:
        out = _layer(row)(x)
        out.square().sum().backward()
    except ValueError:
        return "error, or `floor`"
    assert x.grad is not None
    return "finite" if out.isfinite().all() and x.grad.isfinite().all() else "NOT FINITE"


def float32(row: Row) -> float:
    """Relative error of float32 against float64 at condition number 100."""
    x = spd_matrices(SIZE, BATCH, condition=100.0)
    return _relative(_layer(row).float()(x.float()), _layer(row)(x))


def compiles(row: Row) -> str:
    """Whether the whole layer compiles into one graph, forward and backward, with the same result."""
    torch._dynamo.reset()
    x = spd_matrices(SIZE, BATCH, condition=50.0).requires_grad_()
    try:
        out = torch.compile(_layer(row), fullgraph=True, backend="aot_eager")(x)
        out.square().sum().backward()
    except Exception as error:
        return f"no ({type(error).__name__})"
    return "yes" if _relative(out, _layer(row)(x)) < 1e-7 else "WRONG"


def exports(row: Row) -> str:
    """Whether evaluation exports for any batch size, with the same result."""
    x = spd_matrices(SIZE, BATCH, condition=5.0)
    layer = _layer(row).eval()
    try:
        program = torch.export.export(layer, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},))
    except Exception as error:
        return f"no ({type(error).__name__})"
    return "yes" if _relative(program.module()(x[:7]), layer(x[:7])) < 1e-7 else "WRONG"


COLUMNS: dict[str, Callable[[Row], str]] = {
    "controls": controls,
    "parameters": parameters,
    "eigh (train / eval)": decompositions,
    "agreement": _agreement,
    "singular input": singular,
    "float32": lambda row: _bound(float32(row)),
    "compile": compiles,
    "export": exports,
}


def render() -> str:
    lines = [HEAD, "| method | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for row in ROWS:
        lines.append(f"| {row.title} | " + " | ".join(column(row) for column in COLUMNS.values()) + " |")
    return "\n".join([*lines, "", NOTES])


if __name__ == "__main__":
    print(render())
