"""The table of normalisation layers in docs/norms.md: everything in it is measured or asked of the code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.norm import transcription

from spdnorm.nn import norm_layer
from spdnorm.testing import count_decompositions, spd_matrices
from spdnorm.testing.norm_laws import randomize

OUTPUT = "norms.md"
SIZE, BATCH = 6, 24


@dataclass(frozen=True)
class Method:
    """A row: what to build, and what the method promises in words."""

    title: str
    name: str
    options: dict[str, Any]
    controls: str


METHODS = (
    Method("GBWBN, θ = 1", "gbw", {}, "mean, variance"),
    Method("GBWBN, θ = 1/2", "gbw", {"theta": 0.5}, "mean, variance"),
    Method("GBWBN, θ = 1/4", "gbw", {"theta": 0.25}, "mean, variance"),
    Method("GBWBN, θ = 3/4", "gbw", {"theta": 0.75}, "mean, variance"),
    Method("GBWBN, θ = -1/2", "gbw", {"theta": -0.5}, "mean, variance"),
    Method("BWBN", "bw", {}, "mean, variance"),
    Method("SPDBN (Brooks et al. 2019)", "spd", {}, "mean"),
    Method("SPDMBN (Kobler et al. 2022)", "spdm", {"min_momentum": 1.0}, "mean, variance"),
    Method("ManifoldNorm AIM, Alg. 1", "manifold", {}, "mean"),
    Method("ManifoldNorm AIM, Alg. 2", "manifold", {"algorithm": 2}, "mean, variance"),
    Method("ManifoldNorm LEM, Alg. 2", "manifold", {"metric": "lem", "algorithm": 2}, "mean, variance"),
    Method("LieBN AIM (Chen et al. 2024)", "lie", {}, "mean, variance"),
    Method("LieBN AIM, θ = 1/2", "lie", {"theta": 0.5}, "mean, variance"),
    Method("LieBN LEM", "lie", {"metric": "lem"}, "mean, variance"),
    Method("LieBN LCM", "lie", {"metric": "lcm"}, "mean, variance"),
)


def build(method: Method, *, n: int = SIZE, **options: Any) -> Any:
    """The row's layer in float64 with random parameters."""
    options = {"dtype": torch.float64} | method.options | options
    return randomize(norm_layer(method.name, n, **options))


def parameters(method: Method) -> str:
    """Names of what is learned."""
    layer = build(method)
    return ", ".join(n for n in ("metric", "bias", "scale") if isinstance(getattr(layer, n, None), torch.Tensor))


def decompositions(method: Method) -> str:
    """Eigendecompositions a sample in training and evaluation, where nothing folds."""
    layer, counts = build(method), []
    for training in (True, False):
        layer.train(training)
        seen = []
        for size in (BATCH, 2 * BATCH):
            with count_decompositions() as count:
                layer(spd_matrices(SIZE, size, condition=1.3))
            seen.append(count.eigh)
        counts.append((seen[1] - seen[0]) // BATCH)
    return " / ".join(map(str, counts))


def _relative(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(((a.double() - b.double()).abs().max() / b.abs().max()).detach())


def agreement(method: Method) -> str:
    """Largest relative difference from something that shares no code."""
    x = spd_matrices(SIZE, BATCH, condition=50.0)
    layer = build(method)
    if method.name in ("gbw", "bw"):
        eye = torch.eye(SIZE).double().numpy()
        metric = eye if layer.metric is None else layer.metric.detach().numpy()
        expected, *_ = transcription.gbwbn(
            x.numpy(), eye, 1.0, m=metric, g=layer.bias.detach().numpy(), s=0.3, theta=layer.theta,
            training=True, momentum=0.1, eps=1e-5, iterations=1,
        )  # fmt: skip
        return f"{_relative(layer(x), torch.from_numpy(expected)):.0e} (Alg. 1 in SciPy)"
    peer = _peer(method)
    if peer is None:
        return "laws only"
    title, module = peer
    plain = norm_layer(method.name, SIZE, dtype=torch.float64, **method.options)
    return f"{_relative(plain(x), module(x.unsqueeze(1)).squeeze(1)):.0e} ({title})"


def _peer(method: Method) -> tuple[str, Any] | None:
    from spd_learn import modules as peers

    if method.name == "spd":
        return "spd-learn", peers.SPDBatchNormMean(num_features=SIZE, n_iter=1).double()
    if method.name == "spdm":
        return "spd-learn", peers.SPDBatchNormMeanVar(num_features=SIZE, n_iter=1, eps=1e-5).double()
    if method.name == "lie" and "theta" not in method.options:
        metric = {"aim": "AIM", "lem": "LEM", "lcm": "LCM"}[method.options.get("metric", "aim")]
        return "spd-learn", peers.SPDBatchNormLie(num_features=SIZE, metric=metric, eps=1e-5).double()
    return None


def singular(method: Method) -> str:
    """What rank-deficient input does."""
    x = spd_matrices(SIZE, BATCH, kind="boundary", rank=3).requires_grad_()
    try:
        out = build(method)(x)
        out.square().sum().backward()
    except ValueError:
        return "error, or `floor`"
    return "finite" if out.isfinite().all() and x.grad.isfinite().all() else "NOT FINITE"


def float32(method: Method) -> str:
    """Relative error of float32 against float64 at condition number 100."""
    x = spd_matrices(SIZE, BATCH, condition=100.0)
    return f"{_relative(build(method).float()(x.float()), build(method)(x)):.0e}"


def compiles(method: Method) -> str:
    """Whether the whole layer compiles into one graph, forward and backward, with the same result."""
    torch._dynamo.reset()
    x = spd_matrices(SIZE, BATCH, condition=5.0).requires_grad_()
    try:
        out = torch.compile(build(method), fullgraph=True, backend="aot_eager")(x)
        out.square().sum().backward()
    except Exception as error:
        return f"no ({type(error).__name__})"
    return "yes" if _relative(out, build(method)(x)) < 1e-7 else "WRONG"


def exports(method: Method) -> str:
    """Whether evaluation exports, with the same result."""
    x = spd_matrices(SIZE, BATCH, condition=5.0)
    layer = build(method).eval()
    try:
        program = torch.export.export(layer, (x,))
    except Exception as error:
        return f"no ({type(error).__name__})"
    return "yes" if _relative(program.module()(x), layer(x)) < 1e-7 else "WRONG"


COLUMNS = {
    "statistics controlled": lambda m: m.controls,
    "parameters": parameters,
    "eigendecompositions a sample (train / eval)": decompositions,
    "worst difference from": agreement,
    "singular input": singular,
    "float32 error": float32,
    "compile": compiles,
    "export": exports,
}


def render() -> str:
    """The page as Markdown."""
    lines = [
        "# Normalisation layers",
        "",
        "Generated by `make tables` (`scripts/tables/norms.py`); nothing here is typed in.",
        "",
        f"Matrices {SIZE} x {SIZE}, batch {BATCH}, float64 unless said otherwise, random parameters.",
        "Eigendecompositions are counted where nothing folds and without the n x n ones of the barycentre and the",
        'parameters. "Worst difference" is relative, in training, against an implementation that shares no code: the',
        "paper's Alg. 1 transcribed sample by sample with SciPy (condition number 50, where samples do fold), or",
        "spd-learn.",
        "",
        "| method | " + " | ".join(COLUMNS) + " |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    for method in METHODS:
        lines.append(f"| {method.title} | " + " | ".join(column(method) for column in COLUMNS.values()) + " |")
    return "\n".join([*lines, "", *NOTES, ""])


NOTES = (
    "ManifoldNorm: the publication gives homogeneous spaces in general and no formulas for SPD matrices; which",
    "quantity its Algorithms 1 and 2 scale by is our reading, stated in `spdnorm.functional.manifold_norm`.",
)

if __name__ == "__main__":
    print(render())
