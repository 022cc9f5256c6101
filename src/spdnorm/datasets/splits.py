"""Splits that keep what belongs together on one side."""

from __future__ import annotations

import numpy as np

__all__ = ["group_split", "random_half"]


def group_split(groups: np.ndarray, *, test_size: float = 0.5, seed: int = 0) -> np.ndarray:
    """Return a mask (N,) of the test samples such that no group is on both sides.

    Groups (subjects, recordings) are drawn at random until they hold ``test_size`` of the samples.

    Examples
    --------
    >>> from spdnorm.datasets import group_split
    >>> group_split(np.array(["a", "a", "b", "b"]), test_size=0.5)
    array([ True,  True, False, False])
    """
    if not 0 < test_size < 1:
        raise ValueError(f"test_size={test_size}: give a fraction between 0 and 1")
    names, member, counts = np.unique(groups, return_inverse=True, return_counts=True)
    if len(names) < 2:
        raise ValueError("groups has a single value: there is nothing to split by")
    order = np.random.default_rng(seed).permutation(len(names))
    before = np.concatenate([[0], np.cumsum(counts[order])[:-1]])
    chosen = order[before < test_size * len(groups)]
    # Both sides get a group, whatever the sizes.
    chosen = chosen[: len(names) - 1]
    return np.isin(member, chosen)


def random_half(count: int, *, seed: int = 0) -> np.ndarray:
    """Return a mask (count,) of a random half: the training half of the paper's skeleton experiments.

    Examples
    --------
    >>> from spdnorm.datasets import random_half
    >>> int(random_half(6).sum())
    3
    """
    mask = np.zeros(count, dtype=bool)
    mask[np.random.default_rng(seed).permutation(count)[: count // 2]] = True
    return mask
