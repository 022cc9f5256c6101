"""Acclaim motion capture: skeleton (ASF) and motion (AMC) files.

Format: the Acclaim documentation as reproduced by the CMU and the HDM05 databases (Mueller et al., Documentation Mocap
Database HDM05, CG-2007-2, Bonn 2007). A bone with local axes C (its ``axis`` angles) and motion M (its degrees of
freedom) turns by ``C M C^-1`` with respect to its parent, and its joint lies ``length * direction`` further, both given
in world axes of the rest pose. Angles named XYZ turn about x first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import checks
from .errors import CorruptDataError
from .rotations import rotation

__all__ = ["Bone", "Skeleton", "read_amc", "read_asf"]


@dataclass(frozen=True, kw_only=True)
class Bone:
    """One bone: from its parent's joint to its own.

    ``direction`` (3,) is a unit vector, ``axis`` (3, 3) the rotation of its local axes, ``dof`` the order of its angles
    in AMC lines.
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
            root_axis=_euler(_numbers(rest), root.get("axis", ["XYZ"])[0], degrees=degrees),
            length_unit=_numbers(units.get("length", ["1"]))[0],
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
    motion = {name: np.array(rows) for name, rows in columns.items()}
    for name in motion:
        checks.finite(motion[name], what=f"{path}: {name}")
    return motion


def _numbers(fields: list[str]) -> list[float]:
    values = [float(value) for value in fields]
    if not np.isfinite(values).all():
        raise ValueError(f"non-finite number in {' '.join(fields)!r}")
    return values


def _euler(values: list[float], order: str, *, degrees: bool) -> np.ndarray:
    angles = np.zeros(3)
    for letter, value in zip(order.lower(), values, strict=True):
        angles["xyz".index(letter)] = value
    return rotation(np.deg2rad(angles) if degrees else angles, order)


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
            direction = np.array(_numbers(entry["direction"])).reshape(3)
            norm = float(np.linalg.norm(direction))
            yield Bone(
                name=entry["name"][0],
                direction=direction / norm if norm else direction,
                length=_numbers(entry["length"])[0],
                axis=_euler(_numbers(angles), order, degrees=degrees),
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
