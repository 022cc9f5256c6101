"""Data that several of these tests share."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spdnorm.geometry import random_spd
from spdnorm.linalg import expm, symmetrize


@pytest.fixture(scope="session")
def matrices() -> tuple[np.ndarray, np.ndarray]:
    """SPD matrices (120, 6, 6) of two classes, and string labels."""
    g = torch.Generator().manual_seed(0)
    roots = [torch.linalg.cholesky(random_spd(6, condition=20.0, generator=g)) for _ in range(2)]
    noise = expm(symmetrize(0.4 * torch.randn(120, 6, 6, generator=g, dtype=torch.float64)))
    y = np.arange(120) % 2
    x = torch.stack([symmetrize(roots[k] @ n @ roots[k].mT) for k, n in zip(y, noise, strict=True)])
    return x.numpy(), np.array(["left", "right"])[y]


@pytest.fixture(scope="session")
def signals() -> tuple[np.ndarray, np.ndarray]:
    """Signals (80, 4, 100) at 100 Hz whose last two channels beat at 8 or 13 Hz, in volts."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    time = np.arange(100) / 100
    wave = np.sin(2 * np.pi * (np.array([8.0, 13.0])[y, None] * time + rng.random((80, 1))))
    x = rng.normal(size=(80, 4, 100))
    x[:, 2:] += 2 * wave[:, None]
    return 1e-6 * x, y
