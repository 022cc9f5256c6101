"""Files and recordings that the tests of the data room make."""

from __future__ import annotations

from pathlib import Path

import numpy as np

#: Code with which a child that runs as root gives up the right to pass over permissions (Linux's capset, to none).
GIVE_UP_RIGHTS = "import ctypes, struct; ctypes.CDLL(None).capset(struct.pack('Ii', 0x20080522, 0), bytes(24))"

# Where each bone hangs: the 30 bones of CMU and HDM05 skeletons.
HIERARCHY = {
    "root": ["lhipjoint", "rhipjoint", "lowerback"],
    "lhipjoint": ["lfemur"],
    "lfemur": ["ltibia"],
    "ltibia": ["lfoot"],
    "lfoot": ["ltoes"],
    "rhipjoint": ["rfemur"],
    "rfemur": ["rtibia"],
    "rtibia": ["rfoot"],
    "rfoot": ["rtoes"],
    "lowerback": ["upperback"],
    "upperback": ["thorax"],
    "thorax": ["lowerneck", "lclavicle", "rclavicle"],
    "lowerneck": ["upperneck"],
    "upperneck": ["head"],
    "lclavicle": ["lhumerus"],
    "lhumerus": ["lradius"],
    "lradius": ["lwrist"],
    "lwrist": ["lhand", "lthumb"],
    "lhand": ["lfingers"],
    "rclavicle": ["rhumerus"],
    "rhumerus": ["rradius"],
    "rradius": ["rwrist"],
    "rwrist": ["rhand", "rthumb"],
    "rhand": ["rfingers"],
}
# The order of bonedata: depth first.
BONES = (
    *("lhipjoint", "lfemur", "ltibia", "lfoot", "ltoes", "rhipjoint", "rfemur", "rtibia", "rfoot", "rtoes"),
    *("lowerback", "upperback", "thorax", "lowerneck", "upperneck", "head"),
    *("lclavicle", "lhumerus", "lradius", "lwrist", "lhand", "lfingers", "lthumb"),
    *("rclavicle", "rhumerus", "rradius", "rwrist", "rhand", "rfingers", "rthumb"),
)
PARENT = {child: parent for parent, children in HIERARCHY.items() for child in children}
FIXED = {"lhipjoint", "rhipjoint"}
DOF = {
    bone: ("rx",) if bone.endswith(("tibia", "radius")) else ("rx", "ry", "rz") for bone in BONES if bone not in FIXED
}


def write_asf(path: Path, rng: np.random.Generator) -> dict[str, dict[str, np.ndarray]]:
    """Write a skeleton with random bones; return each bone's direction, length and axis angles."""
    lines = ["# a comment", ":version 1.10", ":name VICON", ":units", "  mass 1.0", "  length 0.45", "  angle deg"]
    lines += [":documentation", "   made for a test", ":root", "   order TX TY TZ RX RY RZ", "   axis XYZ"]
    lines += ["   position 0 0 0", "   orientation 0 0 0", ":bonedata"]
    made = {}
    for number, bone in enumerate(BONES, start=1):
        direction = rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        length, axis = rng.uniform(1, 5), rng.uniform(-90, 90, 3)
        made[bone] = {"direction": direction, "length": np.array(length), "axis": axis}
        lines += ["  begin", f"     id {number}", f"     name {bone}"]
        lines += ["     direction " + " ".join(f"{v:.12f}" for v in direction), f"     length {length:.12f}"]
        lines += ["     axis " + " ".join(f"{v:.12f}" for v in axis) + "  XYZ"]
        if bone in DOF:
            lines += ["    dof " + " ".join(DOF[bone]), "    limits (-160.0 20.0)"]
            lines += ["           (-70.0 70.0)"] * (len(DOF[bone]) - 1)
        lines += ["  end"]
    lines += [":hierarchy", "  begin"]
    lines += [f"    {parent} {' '.join(children)}" for parent, children in HIERARCHY.items()]
    lines += ["  end", ""]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines))
    return made


def write_amc(path: Path, rng: np.random.Generator, frames: int) -> dict[str, np.ndarray]:
    """Write random motion; return the values of the root (frames, 6) and of each moving bone."""
    values = {"root": np.c_[rng.normal(0, 10, (frames, 3)), rng.uniform(-180, 180, (frames, 3))]}
    values |= {bone: rng.uniform(-90, 90, (frames, len(dof))) for bone, dof in DOF.items()}
    lines = ["#!OML:ASF made.ASF", ":FULLY-SPECIFIED", ":DEGREES"]
    for frame in range(frames):
        lines.append(str(frame + 1))
        lines += [f"{name} " + " ".join(f"{v:.10f}" for v in rows[frame]) for name, rows in values.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return values


def random_spd(rng: np.random.Generator, n: int) -> np.ndarray:
    a = rng.normal(size=(n, 2 * n))
    return a @ a.T / n


def write_epochs_file(folder: Path, **changes) -> Path:
    """Write six samples in the layout of the SSVEP exoskeleton set."""
    fields = {
        "x": np.zeros((6, 2, 10), "float32"),
        "y": np.arange(6) % 2,
        "subject": np.ones(6, int),
        "session": np.zeros(6, int),
        "session_names": np.array(["a"]),
        "ch_names": np.array(["Oz", "O1"]),
        "class_names": np.array(["rest", "13Hz"]),
        "sfreq": 256.0,
    }
    folder.mkdir(exist_ok=True)
    np.savez(folder / "epochs.npz", **(fields | changes))
    return folder / "epochs.npz"
