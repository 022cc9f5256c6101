"""Tests that a third party can run on their own parts: law suites, hard matrices, a count of decompositions."""

from spdnorm.testing.counting import DecompositionCount, count_decompositions, count_eigh
from spdnorm.testing.matrices import KINDS, Kind, spd_matrices, tangents

__all__ = [
    "KINDS",
    "DecompositionCount",
    "Kind",
    "count_decompositions",
    "count_eigh",
    "spd_matrices",
    "tangents",
]
