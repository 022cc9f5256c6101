"""Write ``.skeleton`` files by the published format, for tests and for measuring the conversion."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .skeleton import N_JOINTS, BodyTrack

__all__ = ["FIRST_TRACKING_ID", "random_bodies", "write_skeleton"]

#: The sensor's ids begin about here, above 2**56: too large for a float to tell neighbours apart.
FIRST_TRACKING_ID = 72057594037931101


def write_skeleton(path: Path, n_frames: int, bodies: list[BodyTrack]) -> Path:
    """Write bodies to a file; frames that show none are written with no bodies."""
    seen: list[list[tuple[int, np.ndarray]]] = [[] for _ in range(n_frames)]
    for body in bodies:
        for frame, joints in zip(body.frames.tolist(), body.joints, strict=True):
            seen[frame].append((body.tracking_id, joints))
    lines = [str(n_frames)]
    for shown in seen:
        lines.append(str(len(shown)))
        for tracking_id, joints in shown:
            lines.append(f"{tracking_id} 0 1 1 1 1 0 0.01119184 -0.256052 2")
            lines.append(str(N_JOINTS))
            # Depth and colour image positions, orientation and tracking state follow x, y, z.
            lines.extend(
                f"{x:.7g} {y:.7g} {z:.7g} 281.3 191.6 1038.5 519.3 -0.22 0.03 0.97 -0.06 2"
                for x, y, z in joints.tolist()
            )
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return path


def random_bodies(
    rng: np.random.Generator, n_frames: int, *, motions: tuple[float, ...] = (0.3,), missing: int = 0
) -> list[BodyTrack]:
    """Return one body for each entry of ``motions`` (how far its joints wander, in metres), in front of the sensor.

    ``missing`` frames, drawn at random, show no body.
    """
    shown = np.sort(rng.permutation(n_frames)[: n_frames - missing])
    bodies = []
    for number, motion in enumerate(motions):
        pose = rng.normal([number, 0.0, 3.0], 0.4, (1, N_JOINTS, 3))
        phase = rng.uniform(0, 2 * np.pi, (1, N_JOINTS, 3))
        path = np.sin(shown[:, None, None] * 2 * np.pi / n_frames + phase)
        joints = (pose + motion * path).astype(np.float32)
        bodies.append(BodyTrack(tracking_id=FIRST_TRACKING_ID + number, frames=shown, joints=joints))
    return bodies
