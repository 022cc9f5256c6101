"""Hostile matrices by the million: drawn cases, what is run on them, and what must hold.

``python -m spdnorm.testing.fuzz --matrices 1000000`` runs for as long as it takes and prints every violation with the
seed that draws it again.
"""

from spdnorm.testing.fuzz.cases import KINDS, Case, draw, matrices
from spdnorm.testing.fuzz.runner import Report, fuzz
from spdnorm.testing.fuzz.targets import TARGETS

__all__ = ["KINDS", "TARGETS", "Case", "Report", "draw", "fuzz", "matrices"]
