"""The ``.skeleton`` text format of NTU RGB+D, and the choice of the main body.

The format, as the data set's authors document it (github.com/shahroudy/NTURGB-D, ``Matlab/read_skeleton_file.m``):
the number of frames; for each frame the number of bodies; for each body a line of ten values that starts with its
tracking id, the number of joints (25), and a line of twelve values for each joint, which starts with x, y, z in
metres. No torch here: the conversion's worker processes import this module and stay small.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .errors import CorruptDataError

__all__ = ["N_JOINTS", "BodyTrack", "main_body", "read_skeleton"]

N_JOINTS = 25
_VALUES_PER_JOINT = 12
_VALUES_PER_BODY = 10


@dataclass(frozen=True, kw_only=True)
class BodyTrack:
    """One tracked body.

    Parameters
    ----------
    tracking_id : int
        The sensor's id, the same in every frame that shows this body.
    frames : ndarray of int64, shape (T,)
        In which frames of the recording it was seen; frames may be missing in between.
    joints : ndarray of float32, shape (T, 25, 3)
        Joint positions in metres.
    """

    tracking_id: int
    frames: np.ndarray
    joints: np.ndarray

    @property
    def motion(self) -> float:
        """Sum over joints and axes of the variance over time: the authors' measure of the main subject."""
        return float(self.joints.astype(np.float64).var(axis=0).sum())


def read_skeleton(path: Path) -> tuple[int, list[BodyTrack]]:
    """Read a ``.skeleton`` file.

    Returns
    -------
    n_frames : int
        Frames in the recording, those without a body included.
    bodies : list of BodyTrack
        One for each tracking id, in order of appearance; empty where no frame shows a body.
    """
    try:
        cursor = _Cursor(path.read_text(encoding="ascii").splitlines())
        n_frames = cursor.count("frames")
        ids: list[int] = []
        frames: list[int] = []
        rows: list[str] = []
        for frame in range(n_frames):
            for _ in range(cursor.count("bodies")):
                ids.append(cursor.body_id())
                frames.append(frame)
                if (joints := cursor.count("joints")) != N_JOINTS:
                    raise CorruptDataError(f"line {cursor.at}: {joints} joints, expected {N_JOINTS}")
                rows.extend(cursor.take(N_JOINTS))
    except (CorruptDataError, UnicodeDecodeError, OSError) as error:
        raise CorruptDataError(f"{path}: not a complete .skeleton file: {error}") from error
    return n_frames, _tracks(path, np.array(ids, dtype=np.uint64), np.array(frames, dtype=np.int64), rows)


def main_body(bodies: list[BodyTrack], *, min_frames: int = 2) -> BodyTrack:
    """Return the body that moves most (the sum of its joints' variances); shorter tracks than
    ``min_frames`` lose.

    The rule is the data set's authors' own (the FAQ of github.com/shahroudy/NTURGB-D).
    """
    if not bodies:
        raise CorruptDataError("no frame shows a body")
    long_enough = [body for body in bodies if len(body.frames) >= min_frames]
    if not long_enough:
        longest = max(len(body.frames) for body in bodies)
        raise CorruptDataError(f"no body is seen in {min_frames} frames or more (the longest: {longest})")
    return max(long_enough, key=lambda body: body.motion)


class _Cursor:
    """Walks over the lines and says where they end too early."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def take(self, count: int) -> list[str]:
        part = self.lines[self.at : self.at + count]
        self.at += count
        if len(part) < count:
            raise CorruptDataError(f"the file ends at line {len(self.lines)}, in the middle of a record")
        return part

    def count(self, what: str) -> int:
        (line,) = self.take(1)
        text = line.strip()
        if not text.isdigit():
            raise CorruptDataError(f"line {self.at}: expected the number of {what}, found {line[:40]!r}")
        return int(text)

    def body_id(self) -> int:
        (line,) = self.take(1)
        fields = line.split()
        # Ids are near 2**56: a float would merge neighbours, so they are read as integers.
        if len(fields) != _VALUES_PER_BODY or not fields[0].isdigit() or int(fields[0]) >= 1 << 64:
            raise CorruptDataError(f"line {self.at}: expected a body's {_VALUES_PER_BODY} values, found {line[:40]!r}")
        return int(fields[0])


def _tracks(path: Path, ids: np.ndarray, frames: np.ndarray, rows: list[str]) -> list[BodyTrack]:
    if not len(ids):
        return []
    try:
        # One conversion for the whole file: the numbers are most of the reading time.
        values = np.array(" ".join(rows).split(), dtype=np.float64)
    except ValueError as error:
        raise CorruptDataError(f"{path}: a joint's values are not numbers ({error})") from error
    if len(values) != len(rows) * _VALUES_PER_JOINT:
        raise CorruptDataError(f"{path}: a joint's line does not have {_VALUES_PER_JOINT} values")
    xyz = values.reshape(len(ids), N_JOINTS, _VALUES_PER_JOINT)[..., :3].astype(np.float32)
    if not np.isfinite(xyz).all():
        bad = int(np.flatnonzero(~np.isfinite(xyz).all(axis=(1, 2)))[0])
        raise CorruptDataError(f"{path}: non-finite joint position in frame {int(frames[bad])}")
    order = list(dict.fromkeys(ids.tolist()))
    return [BodyTrack(tracking_id=body, frames=frames[ids == body], joints=xyz[ids == body]) for body in order]
