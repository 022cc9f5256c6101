"""Tests that a third party can run on their own parts: law suites, hard matrices, a count of decompositions.

``MetricLaws`` needs pytest and is imported when it is asked for; the rest does not.
"""

from typing import TYPE_CHECKING, Any

from spdnorm.testing.counting import DecompositionCount, count_decompositions, count_eigh
from spdnorm.testing.matrices import KINDS, Kind, spd_matrices, tangents

if TYPE_CHECKING:
    from spdnorm.testing.laws import MetricLaws, MetricSuite, assert_relative

__all__ = [
    "KINDS",
    "DecompositionCount",
    "Kind",
    "MetricLaws",
    "MetricSuite",
    "assert_relative",
    "count_decompositions",
    "count_eigh",
    "spd_matrices",
    "tangents",
]

_LAWS = ("MetricLaws", "MetricSuite", "assert_relative")


def __getattr__(name: str) -> Any:
    if name in _LAWS:
        from spdnorm.testing import laws

        return getattr(laws, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
