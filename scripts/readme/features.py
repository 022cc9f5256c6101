"""The table of features in README.md: every cell is found out by running the installed packages."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import os
import pkgutil
import subprocess
import sys
import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

PACKAGES = {
    "spdnorm": "spdnorm",
    "spd-learn": "spd_learn",
    "geoopt": "geoopt",
    "pyRiemann": "pyriemann",
    "geomstats": "geomstats",
}
YES, NO = "yes", "no"


def classes(package: str) -> list[type]:
    """Every class that is defined in a package."""
    root = importlib.import_module(package)
    found: dict[str, type] = {}
    for entry in pkgutil.walk_packages(root.__path__, f"{package}."):
        if any(part in entry.name for part in (".test", "._backend", ".commands", "__main__", ".samplers")):
            continue
        try:
            module = importlib.import_module(entry.name)
        except Exception:  # an optional dependency of theirs
            continue
        for value in vars(module).values():
            if inspect.isclass(value) and value.__module__.startswith(f"{package}."):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return list(found.values())


def has(package: str, base: type, *words: str) -> str:
    """Whether the package has a concrete subclass of ``base`` with one of ``words`` in its name."""
    fitting = (c for c in classes(package) if issubclass(c, base) and not inspect.isabstract(c))
    return YES if any(not words or any(w in c.__name__.lower() for w in words) for c in fitting) else NO


def layers(package: str, *, n: int) -> list[nn.Module]:
    """The package's normalisation layers for SPD matrices."""
    if package == "spdnorm":
        from spdnorm.nn import norm_layer

        return [norm_layer(name, n, dtype=torch.float64) for name in ("gbw", "bw", "spd", "spdm", "manifold", "lie")]
    if package == "spd_learn":
        from spd_learn.modules import SPDBatchNormLie, SPDBatchNormMean, SPDBatchNormMeanVar

        return [c(n, dtype=torch.float64) for c in (SPDBatchNormMean, SPDBatchNormMeanVar, SPDBatchNormLie)]
    return []


def _counted(package: str, check: Callable[[nn.Module], bool]) -> str:
    results = []
    for layer in layers(package, n=5):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(check(layer))
        except Exception:  # an error is a no
            results.append(False)
    return f"{sum(results)} of {len(results)} layers" if results else "–"


def takes_singular(package: str) -> str:
    """Finite forward and backward on singular matrices."""
    from spdnorm.testing import spd_matrices

    def check(layer: nn.Module) -> bool:
        x = spd_matrices(5, 10, kind="boundary", rank=3).requires_grad_()
        layer(x).square().sum().backward()
        return bool(torch.isfinite(x.grad).all())

    return _counted(package, check)


def updates_in_place(package: str) -> str:
    from spdnorm.testing import spd_matrices

    def check(layer: nn.Module) -> bool:
        buffers = {name: buffer.data_ptr() for name, buffer in layer.named_buffers()}
        layer(spd_matrices(5, 10))
        return bool(buffers) and buffers == {name: buffer.data_ptr() for name, buffer in layer.named_buffers()}

    return _counted(package, check)


def compiles(package: str) -> str:
    from spdnorm.testing import spd_matrices

    def check(layer: nn.Module) -> bool:
        torch._dynamo.reset()
        x = spd_matrices(5, 10).requires_grad_()
        torch.compile(layer, fullgraph=True, backend="aot_eager")(x).sum().backward()
        return True

    return _counted(package, check)


def logarithm(package: str) -> Callable[[Tensor], Tensor] | None:
    """The package's matrix logarithm, where it takes torch tensors."""
    if package == "spdnorm":
        from spdnorm.linalg import logm

        return logm
    if package == "spd_learn":
        from spd_learn.functional import matrix_log

        return matrix_log.apply
    if package == "geoopt":
        from geoopt.linalg import sym_logm

        return sym_logm
    if package == "pyriemann":
        from pyriemann.geometry.base import logm as log_pyriemann

        return log_pyriemann
    if package == "geomstats":
        import geomstats.backend as gs

        return gs.linalg.logm if gs.__name__.endswith("pytorch") or os.environ.get("GEOMSTATS_BACKEND") else None
    return None


def gradient_at_ties(package: str) -> str:
    """d log at the identity is the identity: through the package's logarithm, along a full symmetric direction."""
    function = logarithm(package)
    if function is None:
        return "–"
    direction = torch.tensor([[0.3, 0.5], [0.5, -0.2]], dtype=torch.float64)
    x = torch.eye(2, dtype=torch.float64, requires_grad=True)
    try:
        (function(0.5 * (x + x.mT)) * direction).sum().backward()
    except Exception:  # an error is a no
        return NO
    return YES if x.grad is not None and torch.allclose(x.grad, direction, atol=1e-8) else NO


def second_derivative(package: str) -> str:
    """gradgradcheck of the logarithm at distinct eigenvalues."""
    function = logarithm(package)
    if function is None:
        return "–"
    x = torch.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=torch.float64, requires_grad=True)
    try:
        ok = torch.autograd.gradgradcheck(lambda z: function(0.5 * (z + z.mT)), (x,), raise_exception=False)
    except Exception:  # an error is a no
        ok = False
    return YES if ok else NO


def transport(package: str) -> str:
    """Bures-Wasserstein transport between two points that do not commute keeps the length of a vector."""
    from spdnorm.geometry import BuresWasserstein
    from spdnorm.testing import spd_matrices, tangents

    x, y = spd_matrices(3, 2)
    u, metric = tangents(3), BuresWasserstein()
    try:
        if package == "spdnorm":
            moved = metric.transport(x, y, u)
        elif package == "pyriemann":
            from pyriemann.geometry.tangentspace import transport as transport_pyriemann

            moved = torch.as_tensor(transport_pyriemann(u.numpy()[None], x.numpy(), y.numpy(), metric="wasserstein")[0])
        elif package == "spd_learn":
            from spd_learn.functional import transport as transport_spd_learn

            moved = transport_spd_learn(u[None], x, y, metric="wasserstein")[0]
        elif package == "geomstats":
            from geomstats.geometry.spd_matrices import SPDBuresWassersteinMetric, SPDMatrices

            space = SPDMatrices(3, equip=False)
            space.equip_with_metric(SPDBuresWassersteinMetric)
            moved = space.metric.parallel_transport(u, x, end_point=y)
        else:
            return NO
    except Exception:  # an error is a no
        return NO
    return YES if torch.allclose(metric.norm(y, moved), metric.norm(x, u), rtol=1e-3) else NO


def estimators(package: str) -> str:
    from sklearn.base import BaseEstimator

    return has(package, BaseEstimator)


def optimizers(package: str) -> str:
    return has(package, torch.optim.Optimizer)


ROWS: dict[str, Callable[[str], str]] = {
    "Bures-Wasserstein batch normalisation (the paper's)": lambda p: has(p, nn.Module, "bwbatch", "bures", "wasserst"),
    "Batch normalisation layers for SPD matrices": lambda p: str(len(layers(p, n=3)) or NO),
    "… finite on singular matrices, forward and backward": takes_singular,
    "… with running statistics updated in place": updates_in_place,
    "… that compile into one graph, forward and backward": compiles,
    "Statistics by domain, for any layer": lambda p: has(p, nn.Module, "domainbatch", "domainnorm", "domainspecific"),
    "Exact gradient of the logarithm at equal eigenvalues": gradient_at_ties,
    "Second derivatives of the logarithm": second_derivative,
    "Bures-Wasserstein parallel transport, any two points": transport,
    "scikit-learn estimators": estimators,
    "Riemannian optimisers for PyTorch": optimizers,
}


def column(package: str) -> list[str]:
    return [row(package) for row in ROWS.values()]


def render() -> str:
    """The table in Markdown."""
    columns = {}
    for title, package in PACKAGES.items():
        # A process each: geomstats takes its backend from the environment, and none sees another's settings.
        environment = {**os.environ, "GEOMSTATS_BACKEND": "pytorch" if package == "geomstats" else "numpy"}
        command = [sys.executable, __file__, package]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        distribution = package.replace("_", "-")
        version = "" if package == "spdnorm" else f" {importlib.metadata.version(distribution)}"
        columns[f"{title}{version}"] = done.stdout.strip().splitlines()[-len(ROWS) :]
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for i, title in enumerate(ROWS):
        lines.append(f"| {title} | " + " | ".join(values[i] for values in columns.values()) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("\n".join(column(sys.argv[1])))
