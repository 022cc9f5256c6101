"""Acclaim motion capture: skeleton (ASF) and motion (AMC) files, and forward kinematics to joint positions.

Format: the Acclaim documentation as reproduced by the CMU and the HDM05 databases (Mueller et al.,
Documentation
Mocap Database HDM05, CG-2007-2, Bonn 2007). A bone with local axes C (its ``axis`` angles) and motion M
(its degrees
of freedom) turns by ``C M C^-1`` with respect to its parent, and its joint lies ``length * direction``
further, both
given in world axes of the rest pose. Angles named XYZ turn about x first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .errors import CorruptDataError

__all__ = ["Bone", "Skeleton", "joint_positions", "read_amc", "read_asf"]

_ROTATIONS = {"rx": 0, "ry": 1, "rz": 2}
_TRANSLATIONS = {"tx": 0, "ty": 1, "tz": 2}


@dataclass(frozen=True, kw_only=True)
class Bone:
    """One bone: from its parent's joint to its own.

    ``direction`` (3,) is a unit vector, ``axis`` (3, 3) the rotation of its local axes, ``dof`` the order
    of its
    angles in AMC lines.
    """

    name: str
    direction: np.ndarray
    length: float
    axis: np.ndarray
    dof: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Skeleton:
    """A skeleton: the root, and bones in an order in which parents come before children."""

    bones: tuple[Bone, ...]
    parents: tuple[int, ...] = field(metadata={"help": "index of each bone's parent, -1 for the root"})
    root_order: tuple[str, ...]
    root_axis: np.ndarray
    length_unit: float
    degrees: bool

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, the root first: 31 of them in HDM05 and CMU skeletons."""
        return ("root", *(bone.name for bone in self.bones))


def read_asf(path: Path) -> Skeleton:
    """Read an ASF file."""
    try:
        sections = _sections(path)
        units = {line[0]: line[1:] for line in sections.get("units", []) if line}
        degrees = units.get("angle", ["deg"])[0].startswith("deg")
        root = {line[0]: line[1:] for line in sections["root"] if line}
        bones = {bone.name: bone for bone in _bones(sections["bonedata"], degrees=degrees)}
        order, parents = _hierarchy(sections["hierarchy"], bones)
        rest = root.get("orientation", ["0", "0", "0"])
        return Skeleton(
            bones=tuple(bones[name] for name in order),
            parents=parents,
            root_order=tuple(field.lower() for field in root["order"]),
            root_axis=_euler([float(v) for v in rest], root.get("axis", ["XYZ"])[0], degrees=degrees),
            length_unit=float(units.get("length", ["1"])[0]),
            degrees=degrees,
        )
    except (KeyError, ValueError, IndexError, UnicodeDecodeError) as error:
        raise CorruptDataError(f"{path}: not a complete ASF file ({type(error).__name__}: {error})") from error


def read_amc(path: Path, skeleton: Skeleton) -> dict[str, np.ndarray]:
    """Read an AMC file.

    Returns
    -------
    dict of ndarray, each of shape (frames, values)
        For ``root`` and for each bone that moves, the values in the skeleton's order; angles as in the file.
    """
    widths = {"root": len(skeleton.root_order)} | {b.name: len(b.dof) for b in skeleton.bones if b.dof}
    columns: dict[str, list[list[float]]] = {name: [] for name in widths}
    frames = 0
    try:
        for number, line in enumerate(path.read_text(encoding="latin-1").splitlines(), start=1):
            fields = line.split()
            if fields and fields[0].upper() == (":RADIANS" if skeleton.degrees else ":DEGREES"):
                raise CorruptDataError(f"line {number}: {fields[0]}, and the skeleton counts the other way")
            if not fields or line.startswith(("#", ":")):
                continue
            if len(fields) == 1 and fields[0].isdigit():
                frames += 1
                continue
            name = fields[0]
            if name not in widths:
                raise CorruptDataError(f"line {number}: the skeleton has no moving bone {name!r}")
            values = [float(value) for value in fields[1:]]
            if len(values) != widths[name]:
                raise CorruptDataError(f"line {number}: {name} has {len(values)} values, expected {widths[name]}")
            columns[name].append(values)
    except (ValueError, CorruptDataError) as error:
        raise CorruptDataError(f"{path}: not a complete AMC file: {error}") from error
    short = [name for name, rows in columns.items() if len(rows) != frames]
    if not frames or short:
        raise CorruptDataError(f"{path}: not a complete AMC file: {frames} frames, and {short[:3]} have fewer or more")
    return {name: np.array(rows) for name, rows in columns.items()}


def joint_positions(skeleton: Skeleton, motion: dict[str, np.ndarray], *, scale: float = 1.0) -> np.ndarray:
    """Return joint positions (frames, joints, 3), the root first, by forward kinematics over all frames at
    once.

    Parameters
    ----------
    skeleton, motion
        As :func:`read_asf` and :func:`read_amc` return them.
    scale : float
        Factor on all lengths. In CMU's and HDM05's files one unit is ``2.54 / length_unit`` centimetres.
    """
    root = motion["root"]
    columns = {name: root[:, k] for k, name in enumerate(skeleton.root_order)}
    place = np.stack([columns[name] for name in _TRANSLATIONS], axis=-1)
    turn = np.stack([columns[name] for name in _ROTATIONS], axis=-1)
    order = "".join(name[1] for name in skeleton.root_order if name in _ROTATIONS)
    rotations = [_rotation(turn, order, degrees=skeleton.degrees) @ skeleton.root_axis]
    positions = [place * scale]
    for bone, parent in zip(skeleton.bones, skeleton.parents, strict=True):
        rotation = rotations[parent + 1]
        if bone.dof:
            values = motion[bone.name]
            angles = np.zeros((len(values), 3))
            for k, name in enumerate(bone.dof):
                if name in _ROTATIONS:
                    angles[:, _ROTATIONS[name]] = values[:, k]
            order = "".join(name[1] for name in bone.dof if name in _ROTATIONS)
            local = _rotation(angles, order, degrees=skeleton.degrees)
            rotation = rotation @ bone.axis @ local @ bone.axis.T
        rotations.append(rotation)
        positions.append(positions[parent + 1] + rotation @ (bone.direction * bone.length * scale))
    return np.stack(positions, axis=1)


def _rotation(angles: np.ndarray, order: str, *, degrees: bool) -> np.ndarray:
    """Return rotations (..., 3, 3) for angles (..., 3) about x, y, z; the first letter of ``order`` turns first."""
    angles = np.deg2rad(angles) if degrees else angles
    result = np.broadcast_to(np.eye(3), (*angles.shape[:-1], 3, 3))
    for letter in order.lower():
        axis = "xyz".index(letter)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        single = np.zeros((*angles.shape[:-1], 3, 3))
        single[..., axis, axis] = 1
        single[..., i, i] = single[..., j, j] = np.cos(angles[..., axis])
        single[..., j, i] = np.sin(angles[..., axis])
        single[..., i, j] = -np.sin(angles[..., axis])
        result = single @ result
    return result


def _euler(values: list[float], order: str, *, degrees: bool) -> np.ndarray:
    angles = np.zeros(3)
    for letter, value in zip(order.lower(), values, strict=True):
        angles["xyz".index(letter)] = value
    return _rotation(angles, order, degrees=degrees)


def _sections(path: Path) -> dict[str, list[list[str]]]:
    sections: dict[str, list[list[str]]] = {}
    current: list[list[str]] = []
    for line in path.read_text(encoding="latin-1").splitlines():
        fields = line.split("#")[0].split()
        if not fields:
            continue
        if fields[0].startswith(":"):
            current = sections.setdefault(fields[0][1:].lower(), [])
            if len(fields) > 1:
                current.append(fields[1:])
        else:
            current.append(fields)
    return sections


def _bones(lines: list[list[str]], *, degrees: bool) -> Iterator[Bone]:
    entry: dict[str, list[str]] = {}
    for fields in lines:
        if fields[0] == "begin":
            entry = {}
        elif fields[0] == "end":
            *angles, order = entry["axis"]
            direction = np.array([float(v) for v in entry["direction"]])
            norm = float(np.linalg.norm(direction))
            yield Bone(
                name=entry["name"][0],
                direction=direction / norm if norm else direction,
                length=float(entry["length"][0]),
                axis=_euler([float(v) for v in angles], order, degrees=degrees),
                dof=tuple(name.lower() for name in entry.get("dof", [])),
            )
        else:
            entry.setdefault(fields[0], fields[1:])


def _hierarchy(lines: list[list[str]], bones: dict[str, Bone]) -> tuple[list[str], tuple[int, ...]]:
    parent_of: dict[str, str] = {}
    for fields in lines:
        if fields[0] in ("begin", "end"):
            continue
        parent, *children = fields
        for child in children:
            if child not in bones:
                raise ValueError(f"the hierarchy names {child!r}, which bonedata lacks")
            parent_of[child] = parent
    # Joints keep the order of bonedata where that has parents first, as all published skeletons do.
    order: list[str] = []
    waiting = [name for name in bones if name in parent_of]
    while waiting:
        ready = [name for name in waiting if parent_of[name] == "root" or parent_of[name] in order]
        if not ready:
            raise ValueError(f"these bones do not hang on the root: {waiting[:5]}")
        order.append(ready[0])
        waiting.remove(ready[0])
    index = {"root": -1} | {name: k for k, name in enumerate(order)}
    return order, tuple(index[parent_of[name]] for name in order)
