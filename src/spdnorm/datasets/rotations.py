"""Rotation matrices from angles about the coordinate axes, whole arrays at a time."""

from __future__ import annotations

import numpy as np

__all__ = ["rotation"]


def rotation(angles: np.ndarray, order: str) -> np.ndarray:
    """Return rotations (..., 3, 3) for angles (..., 3) in radians about the fixed axes x, y, z.

    The first letter of ``order`` turns first: ``"xyz"`` is ``R_z R_y R_x``, by the right-hand rule.
    """
    result = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
    for letter in order.lower():
        result = _about(angles[..., "xyz".index(letter)], "xyz".index(letter)) @ result
    return result


def _about(angle: np.ndarray, axis: int) -> np.ndarray:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    result = np.zeros((*angle.shape, 3, 3))
    result[..., axis, axis] = 1
    result[..., i, i] = result[..., j, j] = np.cos(angle)
    result[..., j, i] = np.sin(angle)
    result[..., i, j] = -np.sin(angle)
    return result
