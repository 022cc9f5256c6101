"""Timings of layers, networks and eigensolvers, beside those of the peers that are installed.

Contenders run in one process, on the same input, in turns: what disturbs the machine disturbs them alike, and it is
their ratios that mean something.
"""

from spdnorm.bench.clock import Timing, race
from spdnorm.bench.tables import Table, get, names

__all__ = ["Table", "Timing", "get", "names", "race"]
