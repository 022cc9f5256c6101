"""Random state: seeded, saved, restored, and given back to the caller as it was."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

__all__ = ["capture", "deterministic", "restore", "seed_all"]


def seed_all(seed: int) -> None:
    """Seed Python, NumPy and torch on every device."""
    random.seed(seed)
    # Libraries below still draw from NumPy's global generator.
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def capture() -> dict[str, Any]:
    """Return the random state of Python, NumPy and torch, made of what ``torch.load(weights_only=True)`` reads."""
    version, numbers, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002
    assert name == "MT19937"
    return {
        "python": {"version": version, "numbers": torch.tensor(numbers, dtype=torch.int64), "gauss": gauss},
        "numpy": {
            "keys": torch.from_numpy(np.asarray(keys).astype(np.int64)),
            "position": int(position),
            "has_gauss": int(has_gauss),
            "cached": float(cached),
        },
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else [],
    }


def restore(state: dict[str, Any]) -> None:
    """Put back what :func:`capture` returned."""
    python, numpy = state["python"], state["numpy"]
    random.setstate((python["version"], tuple(python["numbers"].tolist()), python["gauss"]))
    keys = numpy["keys"].numpy().astype(np.uint32)
    np.random.set_state(  # noqa: NPY002
        ("MT19937", keys, numpy["position"], numpy["has_gauss"], numpy["cached"])
    )
    torch.set_rng_state(state["torch"].cpu())
    if state["cuda"]:
        torch.cuda.set_rng_state_all([entry.cpu() for entry in state["cuda"]])


@contextmanager
def deterministic(*, threads: int) -> Iterator[None]:
    """Compute with deterministic algorithms and a fixed number of threads; global state is put back after."""
    before = capture()
    settings = torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark
    algorithms = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    switches: Any = torch.utils.deterministic
    fill = switches.fill_uninitialized_memory
    threads_before = torch.get_num_threads()
    # cuBLAS reads it when it first starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    # Filling empty tensors guards against reading them, which nothing here does, and costs time.
    switches.fill_uninitialized_memory = False
    torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = True, False
    try:
        yield
    finally:
        torch.backends.cudnn.deterministic, torch.backends.cudnn.benchmark = settings
        switches.fill_uninitialized_memory = fill
        torch.use_deterministic_algorithms(algorithms, warn_only=warn_only)
        torch.set_num_threads(threads_before)
        restore(before)
