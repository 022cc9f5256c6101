"""What several test modules share."""

from spdnorm.testing import count_decompositions, spd_matrices, tangents

__all__ = ["count_decompositions", "spd_matrices", "tangents"]
