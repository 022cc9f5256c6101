"""Statistics of batches of SPD matrices."""

from spdnorm.stats.running import momentum_schedule, update_average, write
from spdnorm.stats.synchronized import SynchronizedAverage, anywhere, is_empty

__all__ = ["SynchronizedAverage", "anywhere", "is_empty", "momentum_schedule", "update_average", "write"]
