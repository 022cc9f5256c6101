"""Forward kinematics: from a skeleton and its motion to joint positions."""

from __future__ import annotations

import numpy as np

from .asf_amc import Skeleton
from .rotations import rotation

__all__ = ["joint_positions"]

_ROTATIONS = {"rx": 0, "ry": 1, "rz": 2}
_TRANSLATIONS = {"tx": 0, "ty": 1, "tz": 2}


def joint_positions(skeleton: Skeleton, motion: dict[str, np.ndarray], *, scale: float = 1.0) -> np.ndarray:
    """Return joint positions (frames, joints, 3), the root first, for all frames at once.

    Parameters
    ----------
    skeleton, motion
        As :func:`~.asf_amc.read_asf` and :func:`~.asf_amc.read_amc` return them.
    scale : float
        Factor on all lengths. In CMU's and HDM05's files one unit is ``2.54 / length_unit`` centimetres.
    """
    root = dict(zip(skeleton.root_order, motion["root"].T, strict=True))
    turned = [_turn(motion["root"], skeleton.root_order, skeleton) @ skeleton.root_axis]
    positions = [np.stack([root[name] for name in _TRANSLATIONS], axis=-1) * scale]
    for bone, parent in zip(skeleton.bones, skeleton.parents, strict=True):
        orientation = turned[parent + 1]
        if bone.dof:
            orientation = orientation @ bone.axis @ _turn(motion[bone.name], bone.dof, skeleton) @ bone.axis.T
        turned.append(orientation)
        positions.append(positions[parent + 1] + orientation @ (bone.direction * bone.length * scale))
    return np.stack(positions, axis=1)


def _turn(values: np.ndarray, names: tuple[str, ...], skeleton: Skeleton) -> np.ndarray:
    """Return the rotations (frames, 3, 3) of the columns of ``values`` that are angles, in the order of their names."""
    angles = np.zeros((len(values), 3))
    order = ""
    for column, name in zip(values.T, names, strict=True):
        if name in _ROTATIONS:
            angles[:, _ROTATIONS[name]] = column
            order += name[1]
    return rotation(np.deg2rad(angles) if skeleton.degrees else angles, order)
