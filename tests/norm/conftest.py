"""The compilation of a program that another suite compiles too is left to the full run."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if item.originalname == "test_compile" and getattr(item.cls, "compiles_like_another", False):
            item.add_marker(pytest.mark.slow)
