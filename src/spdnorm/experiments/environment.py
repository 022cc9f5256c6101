"""What a run was computed with."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from .. import __version__
from .execution import Execution

__all__ = ["describe"]

PACKAGES = ("torch", "numpy", "geoopt", "lightning-fabric", "braindecode", "mne", "scipy", "aeon")


def describe(execution: Execution, *, device: torch.device, engine: str) -> dict[str, Any]:
    """Return versions, commit, machine, device and threads as plain data."""
    return {
        "spdnorm": __version__,
        "commit": commit(),
        "python": platform.python_version(),
        "packages": packages(),
        "platform": platform.platform(),
        "processor": processor(),
        "accelerator": execution.accelerator,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "devices": execution.devices,
        "threads": execution.threads,
        "engine": engine,
    }


def packages(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of the packages that a result may depend on, and of ``more``."""
    found = {}
    for name in dict.fromkeys((*PACKAGES, *more)):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def commit() -> str | None:
    """Return the commit of the source tree, with ``+`` where it has changes; None for an installed package."""
    folder = Path(__file__).parent
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"]
    try:
        tracked = ["git", "-C", str(folder), "ls-files", "--error-unmatch", Path(__file__).name]
        subprocess.run(tracked, capture_output=True, check=True, timeout=10)
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


@lru_cache(maxsize=1)
def processor() -> str:
    """Return the processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
