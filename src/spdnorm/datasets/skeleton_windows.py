"""Windows of skeleton sequences: crop, resize in time, rotate; whole batches at a time.

The released script of the paper resizes to 64 frames, from the central 95 % for testing and from a random 50 to 100 %
(never fewer than 64 frames while there are that many) with a random rotation for training.
"""

from __future__ import annotations

import numpy as np

from .rotations import rotation

__all__ = ["crop_resize", "random_rotation"]


def crop_resize(
    x: np.ndarray,
    lengths: np.ndarray,
    *,
    window: int = 64,
    crop: float | tuple[float, float] = 0.95,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Crop each sequence and resize it in time by linear interpolation.

    Parameters
    ----------
    x : ndarray, shape (N, channels, times)
        Sequences, valid up to ``lengths``.
    lengths : ndarray of int, shape (N,)
        Valid frames of each, at least 1.
    window : int
        Frames to return.
    crop : float or (low, high)
        A number keeps that central part; a pair draws each sequence's part uniformly between them, and its
        place.
    rng : numpy Generator
        Needed for a random crop.

    Returns
    -------
    ndarray, shape (N, channels, window), floating
        Frame i of the window is taken at ``(i + 1/2) * cropped / window - 1/2`` of the cropped sequence, as
        ``torch.nn.functional.interpolate(mode="linear", align_corners=False)`` has it.
    """
    valid = np.asarray(lengths, dtype=np.int64)
    if len(valid) and (valid.min() < 1 or valid.max() > x.shape[-1]):
        raise ValueError(f"lengths must lie in 1 to {x.shape[-1]}, found {valid.min()} to {valid.max()}")
    low, high = crop if isinstance(crop, tuple) else (crop, crop)
    if not 0 < low <= high <= 1:
        raise ValueError(f"crop={crop}: give a part in (0, 1], or a pair (low, high) of such")
    if isinstance(crop, tuple):
        if rng is None:
            raise ValueError("a random crop needs rng, a numpy Generator")
        part = rng.uniform(low, high, len(valid))
        cropped = np.minimum(np.maximum(np.floor(valid * part).astype(np.int64), window), valid)
        start = rng.integers(0, valid - cropped + 1)
    else:
        start = ((1 - crop) * valid / 2).astype(np.int64)
        cropped = valid - 2 * start
    where = (np.arange(window) + 0.5) * (cropped[:, None] / window) - 0.5
    where = np.clip(where, 0, cropped[:, None] - 1)
    left = np.floor(where).astype(np.int64)
    right = np.minimum(left + 1, cropped[:, None] - 1)
    weight = (where - left).astype(x.dtype)[:, None, :]
    before = np.take_along_axis(x, (start[:, None] + left)[:, None, :], axis=-1)
    after = np.take_along_axis(x, (start[:, None] + right)[:, None, :], axis=-1)
    return before + weight * (after - before)


def random_rotation(x: np.ndarray, *, rng: np.random.Generator, max_angle: float = 0.3) -> np.ndarray:
    """Rotate each sequence about x, y and z by its own angles, uniform in ``[-max_angle, max_angle]``
    radians.

    ``x`` has shape (N, 3 * joints, times), joint by joint in the order x, y, z.
    """
    angles = rng.uniform(-max_angle, max_angle, (len(x), 3))
    points = x.reshape(len(x), -1, 3, x.shape[-1])
    return (rotation(angles, "xyz")[:, None].astype(x.dtype) @ points).reshape(x.shape)
