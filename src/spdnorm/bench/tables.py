"""The tables of ``spdnorm bench``: what is raced, at which sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn

from spdnorm.bench.clock import Timing, race
from spdnorm.bench.operations import contenders as contenders_of
from spdnorm.bench.operations import operation_names
from spdnorm.bench.peers import peer_layers
from spdnorm.bench.steps import epoch, forward_backward, graphed, samples, saved_bytes, training_step
from spdnorm.linalg import backends, eigh, eigh_backend
from spdnorm.models import RResNet
from spdnorm.nn import GBWBatchNorm, norm_layer

#: Batch and matrix sizes; the first ones are those of a quick run.
LAYER_SIZES = [(30, 12), (30, 30), (256, 30), (256, 75), (30, 93)]
SCALING_SIZES = [
    *[(8, 30), (64, 30), (512, 30), (4096, 30), (16384, 30)],
    *[(64, 8), (64, 16), (64, 32), (64, 64), (64, 128), (64, 256)],
]
#: Of NTU RGB+D: matrices and classes.
EPOCH_SAMPLES, EPOCH_CLASSES = 56_880, 60
METHODS: dict[str, dict[str, Any]] = {
    "GBWBN": {"name": "gbw"},
    "GBWBN, theta=0.5": {"name": "gbw", "theta": 0.5},
    "BWBN": {"name": "bw"},
    "SPDBN": {"name": "spd"},
    "SPDMBN": {"name": "spdm"},
    "ManifoldNorm": {"name": "manifold"},
    "LieBN": {"name": "lie"},
}

NETWORK_NORMS: list[tuple[str, str, dict[str, Any]]] = [
    ("none", "none", {}),
    ("GBWBN", "gbw", {}),
    ("GBWBN, theta=0.5", "gbw", {"theta": 0.5}),
    ("SPDMBN", "spdm", {}),
    ("LieBN", "lie", {}),
]


@dataclass(frozen=True)
class Setting:
    """Where and how carefully a table is measured."""

    device: torch.device
    dtype: torch.dtype = torch.float64
    rounds: int = 15
    quick: bool = False

    def sizes(self, all_of_them: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The sizes to measure."""
        return all_of_them[:3] if self.quick else all_of_them

    def race(self, contenders: Mapping[str, Callable[[], object]]) -> dict[str, Timing]:
        """Time contenders on this device."""
        return race(contenders, device=self.device, rounds=3 if self.quick else self.rounds)


@dataclass
class Table:
    """Rows of milliseconds, and what all are divided by.

    Attributes
    ----------
    title, note : str
    reference : str or None
        The contender that ratios are taken to.
    rows : dict
        Row -> contender -> timing.
    unit : str
        What the timings are in.

    Examples
    --------
    >>> from spdnorm.bench import Table, Timing
    >>> table = Table("Layers", "Milliseconds.", "eigh", {"n 3": {"eigh": Timing.of([0.001])}})
    >>> table.rows["n 3"]["eigh"].median
    1.0
    """

    title: str
    note: str
    reference: str | None = None
    rows: dict[str, dict[str, Timing]] = field(default_factory=dict)
    unit: str = "ms"


def _graph_of_layer(method: str, n: int, x: torch.Tensor, setting: Setting) -> Callable[[], object]:
    layer = norm_layer(num_features=n, device=setting.device, dtype=setting.dtype, **METHODS[method])
    sample = x.clone().requires_grad_()
    graph: nn.Module = torch.cuda.make_graphed_callables(layer, (sample,))  # type: ignore[assignment]
    return forward_backward(graph, x)


def layers(setting: Setting) -> Table:
    """Forward and backward pass of each normalisation alone."""
    table = Table(
        "Layers",
        "Milliseconds of one forward and backward pass in training, gradients of the input and all parameters.",
        "one batched eigh",
    )
    for count, n in setting.sizes(LAYER_SIZES):
        x = samples(count, n, device=setting.device, dtype=setting.dtype)
        contenders: dict[str, Callable[[], object]] = {"one batched eigh": partial(torch.linalg.eigh, x)}
        for label, options in METHODS.items():
            layer = norm_layer(num_features=n, device=setting.device, dtype=setting.dtype, **options)
            contenders[label] = forward_backward(layer, x)
        if setting.device.type == "cuda":
            contenders["GBWBN, CUDA graph"] = _graph_of_layer("GBWBN", n, x, setting)
            contenders["GBWBN, theta=0.5, CUDA graph"] = _graph_of_layer("GBWBN, theta=0.5", n, x, setting)
        for label, layer in peer_layers(n, device=setting.device, dtype=setting.dtype):
            contenders[label] = forward_backward(layer, x)
        table.rows[f"batch {count}, n {n}"] = setting.race(contenders)
    return table


def networks(setting: Setting) -> Table:
    """Training step of RResNet with and without normalisation, HDM05's and NTU's sizes."""
    table = Table(
        "Networks", "Milliseconds of one training step (Adam) of RResNet; a CUDA graph where it says so.", "none"
    )
    for dims, count in [((93, 30), 30), ((75, 30), 256), ((75,), 256)][: 1 if setting.quick else 3]:
        x = samples(count, dims[0], device=setting.device, dtype=setting.dtype)
        y = torch.arange(count, device=setting.device) % 60
        contenders: dict[str, Callable[[], object]] = {}
        for label, norm, options in NETWORK_NORMS:
            build = partial(RResNet, dims, 60, norm=norm, norm_options=options)
            contenders[label] = training_step(build(device=setting.device, dtype=setting.dtype), x, y)
            if setting.device.type == "cuda" and norm in ("none", "gbw"):
                contenders[f"{label}, CUDA graph"] = graphed(
                    training_step(build(device=setting.device, dtype=setting.dtype), x, y)
                )
        shape = ", ".join(map(str, dims))
        table.rows[f"{{{shape}}}, batch {count}"] = setting.race(contenders)
    return table


def epochs(setting: Setting) -> Table:
    """A whole epoch at the size of NTU RGB+D, shuffled, from data on the device."""
    count = EPOCH_SAMPLES if setting.device.type == "cuda" and not setting.quick else 2_560
    note = f"Seconds of one epoch (Adam, batches of 256, shuffled) of {count:,} matrices 75 x 75 on the device."
    table = Table("Epochs", note, "none", unit="s")
    x = samples(count, 75, device=setting.device, dtype=setting.dtype)
    y = torch.arange(count, device=setting.device) % EPOCH_CLASSES
    for dims in ((75, 30), (75,)):
        contenders: dict[str, Callable[[], object]] = {}
        for label, norm, options in NETWORK_NORMS[:3]:
            network = RResNet(
                dims, EPOCH_CLASSES, norm=norm, norm_options=options, device=setting.device, dtype=setting.dtype
            )
            contenders[label] = epoch(network, x, y, batch=256)
        timings = race(contenders, device=setting.device, rounds=1, warmup=0)
        shape = ", ".join(map(str, dims))
        table.rows[f"{{{shape}}}"] = {k: t.scaled(1e-3) for k, t in timings.items()}
    return table


def memory(setting: Setting) -> Table:
    """What the forward pass keeps for the backward pass."""
    table = Table("Memory", "Kilobytes a sample that the forward pass keeps for the backward pass.", unit="kB")
    for count, n in setting.sizes([(256, 30), (256, 75), (256, 128)]):
        x = samples(count, n, device=setting.device, dtype=setting.dtype)
        row = {}
        for label, options in METHODS.items():
            layer = norm_layer(num_features=n, device=setting.device, dtype=setting.dtype, **options)
            kept = saved_bytes(layer, x) / count / 1e3
            row[label] = Timing(kept, kept, kept)
        table.rows[f"n {n}"] = row
    return table


def eigensolvers(setting: Setting) -> Table:
    """Each eigensolver on the same batches."""
    table = Table("Eigensolvers", "Milliseconds of one batched eigendecomposition, by backend.", "torch")
    sizes = [*LAYER_SIZES, (256, 128), (1, 30), (1, 75)]
    for count, n in setting.sizes(sizes):
        x = samples(count, n, device=setting.device, dtype=setting.dtype)
        contenders = {name: partial(_solve, name, x) for name in backends() if _works(name, x)}
        table.rows[f"batch {count}, n {n}"] = setting.race(contenders)
    return table


def _solve(backend: str, x: torch.Tensor) -> None:
    with eigh_backend(backend):
        eigh(x)


def _works(backend: str, x: torch.Tensor) -> bool:
    if x.device.type == "cpu" and backend in ("cusolver", "cupy"):
        return False
    try:
        _solve(backend, x[:1])
    except (ImportError, RuntimeError):
        return False
    return True


def operations(setting: Setting) -> Table:
    """Distances, logarithms and converged means beside those of geoopt, pyriemann and spd-learn."""
    table = Table(
        "Operations", "Milliseconds of one operation on a batch, without gradients; means to 1e-8.", "spdnorm"
    )
    for count, n in setting.sizes([(30, 12), (256, 30)]):
        x = samples(count, n, device=setting.device, dtype=setting.dtype)
        point = samples(1, n, device=setting.device, dtype=setting.dtype, seed=1)[0]
        for name in operation_names():
            table.rows[f"{name}, batch {count}, n {n}"] = setting.race(dict(contenders_of(name, x, point)))
    return table


def scaling(setting: Setting) -> Table:
    """GBWBN from small to large: linear in the batch, cubic in n."""
    table = Table("Scaling", "Milliseconds of one forward and backward pass of GBWBN.")
    for count, n in setting.sizes(SCALING_SIZES):
        x = samples(count, n, device=setting.device, dtype=setting.dtype)
        layer = GBWBatchNorm(n, device=setting.device, dtype=setting.dtype)
        table.rows[f"batch {count}, n {n}"] = setting.race({"GBWBN": forward_backward(layer, x)})
    return table


def threads(setting: Setting) -> Table:
    """GBWBN with one thread and with all."""
    most = torch.get_num_threads()
    table = Table("Threads", f"Milliseconds of GBWBN with 1 and with {most} threads, in turns.", "1 thread")
    for count, n in setting.sizes([(30, 30), (256, 30), (256, 75)]):
        x = samples(count, n, dtype=setting.dtype)
        call = forward_backward(GBWBatchNorm(n, dtype=setting.dtype), x)
        table.rows[f"batch {count}, n {n}"] = setting.race(
            {f"{k} thread{'s' if k > 1 else ''}": partial(_with_threads, k, call) for k in sorted({1, most})}
        )
    torch.set_num_threads(most)
    return table


def _with_threads(count: int, call: Callable[[], object]) -> None:
    torch.set_num_threads(count)
    call()


_TABLES: dict[str, Callable[[Setting], Table]] = {
    "layers": layers,
    "networks": networks,
    "epochs": epochs,
    "memory": memory,
    "operations": operations,
    "eigensolvers": eigensolvers,
    "scaling": scaling,
    "threads": threads,
}


def names() -> list[str]:
    """Names of the tables.

    Examples
    --------
    >>> from spdnorm.bench import names
    >>> names()
    ['layers', 'networks', 'epochs', 'memory', 'operations', 'eigensolvers', 'scaling', 'threads']
    """
    return list(_TABLES)


def get(name: str) -> Callable[[Setting], Table]:
    """The function that measures a table.

    Examples
    --------
    >>> from spdnorm.bench import get
    >>> get("layers").__name__
    'layers'
    """
    if name not in _TABLES:
        raise ValueError(f"unknown table {name!r}: choose one of {', '.join(_TABLES)}")
    return _TABLES[name]
