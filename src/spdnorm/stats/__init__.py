"""Statistics of batches of SPD matrices."""
