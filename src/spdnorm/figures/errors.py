"""What can go wrong with figures; every message says what to do."""

from __future__ import annotations

from ..experiments import ExperimentError

__all__ = ["FigureError"]


class FigureError(ExperimentError):
    """A figure cannot be drawn from what was given."""
