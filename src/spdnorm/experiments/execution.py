"""How a run is computed, as far as it does not belong to what is computed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from .errors import ConfigError

__all__ = ["Execution"]


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Where and how a run is computed; no part of its identity.

    Parameters
    ----------
    data_dir : str, optional
        Data root; ``SPDNORM_DATA`` or the user's cache directory where None.
    accelerator, devices, strategy : str, int, str
        As :class:`lightning_fabric.Fabric` takes them. More than one device needs a launcher (``torchrun`` or
        ``fabric run``), which sets ``WORLD_SIZE``.
    threads : int
        Threads of one run. The networks are tiny: one is fastest, and several runs share the cores.
    checkpoint_every : int
        Epochs from one checkpoint to the next; the last epoch always has one.
    tensorboard : bool
        Write TensorBoard events into the run's folder, beside the CSV file.
    progress : "auto", "on" or "off"
        Progress display; ``auto`` shows it on a terminal only.
    lock_timeout : float
        Seconds to wait for another process that is writing the same run.

    Examples
    --------
    >>> from spdnorm.experiments import Execution
    >>> Execution().accelerator
    'cpu'
    """

    data_dir: str | None = None
    accelerator: str = "cpu"
    devices: int = 1
    strategy: str = "auto"
    threads: int = 1
    checkpoint_every: int = 1
    tensorboard: bool = False
    progress: Literal["auto", "on", "off"] = "auto"
    lock_timeout: float = 0.0

    def __post_init__(self) -> None:
        if self.devices < 1 or self.threads < 1 or self.checkpoint_every < 1:
            raise ConfigError("devices, threads and checkpoint_every must be at least 1")
        if self.devices > 1 and "WORLD_SIZE" not in os.environ:
            raise ConfigError(
                f"devices={self.devices} needs a launcher: torchrun --nproc-per-node {self.devices} "
                "-m spdnorm train ..., or fabric run"
            )
