"""Statistics of batches of SPD matrices."""

from spdnorm.stats.running import momentum_schedule, update_average, write

__all__ = ["momentum_schedule", "update_average", "write"]
