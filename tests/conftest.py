"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data: ``SPDNORM_DATA``, or ``shared/data`` next to the checkout; skips where absent."""
    chosen = os.environ.get("SPDNORM_DATA")
    folder = Path(chosen) if chosen else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: set SPDNORM_DATA (looked in {folder})")
    return folder
