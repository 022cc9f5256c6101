"""Kernel lengths for another sampling rate than a publication's."""

from __future__ import annotations


def scaled(length: int, sfreq: float, published: float) -> int:
    """The number of samples at ``sfreq`` Hz that lasts as long as ``length`` at ``published`` Hz, at least 1."""
    return max(1, round(length * sfreq / published))
