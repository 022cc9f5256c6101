"""NTU RGB+D: file names, splits, classes and the official list of damaged samples."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

import numpy as np

from .errors import CorruptDataError
from .splits import random_half

__all__ = ["ACTIONS", "TRAINING_CAMERAS", "TRAINING_SUBJECTS", "damaged_samples", "parse_name", "split_column"]

#: Shahroudy, Liu, Ng and Wang, CVPR 2016, section 3.2: cross-view trains on cameras 2 and 3, tests on
#: camera 1.
TRAINING_CAMERAS = (2, 3)
#: The same, cross-subject: the performers of the training half.
TRAINING_SUBJECTS = (1, 2, 4, 5, 8, 9, 13, 14, 15, 16, 17, 18, 19, 25, 27, 28, 31, 34, 35, 38)

SPLITS = ("cross-view", "cross-subject", "random-half")

#: Actions A1 to A60, in order (the table of github.com/shahroudy/NTURGB-D).
ACTIONS = (
    "drink water",
    "eat meal/snack",
    "brushing teeth",
    "brushing hair",
    "drop",
    "pickup",
    "throw",
    "sitting down",
    "standing up",
    "clapping",
    "reading",
    "writing",
    "tear up paper",
    "wear jacket",
    "take off jacket",
    "wear a shoe",
    "take off a shoe",
    "wear on glasses",
    "take off glasses",
    "put on a hat/cap",
    "take off a hat/cap",
    "cheer up",
    "hand waving",
    "kicking something",
    "reach into pocket",
    "hopping",
    "jump up",
    "make a phone call",
    "playing with phone/tablet",
    "typing on a keyboard",
    "pointing to something with finger",
    "taking a selfie",
    "check time (from watch)",
    "rub two hands together",
    "nod head/bow",
    "shake head",
    "wipe face",
    "salute",
    "put the palms together",
    "cross hands in front",
    "sneeze/cough",
    "staggering",
    "falling",
    "touch head (headache)",
    "touch chest",
    "touch back",
    "touch neck",
    "nausea or vomiting condition",
    "use a fan/feeling warm",
    "punching/slapping other person",
    "kicking other person",
    "pushing other person",
    "pat on back of other person",
    "point finger at the other person",
    "hugging other person",
    "giving something to other person",
    "touch other person's pocket",
    "handshaking",
    "walking towards each other",
    "walking apart from each other",
)

_NAME = re.compile(r"S(\d{3})C(\d{3})P(\d{3})R(\d{3})A(\d{3})")
_FIELDS = ("setup", "camera", "subject", "replication", "action")


def parse_name(name: str) -> dict[str, int]:
    """Return setup, camera, subject, replication and action (all from 1) of a name like S001C002P003R002A013."""
    match = _NAME.fullmatch(name.removesuffix(".skeleton"))
    if match is None:
        raise CorruptDataError(f"{name!r} is not a name of the form S001C002P003R002A013.skeleton")
    return dict(zip(_FIELDS, (int(group) for group in match.groups()), strict=True))


@cache
def damaged_samples() -> frozenset[str]:
    """Return the 302 samples with missing or incomplete skeletons.

    Source: github.com/shahroudy/NTURGB-D, ``Matlab/NTU_RGBD_samples_with_missing_skeletons.txt``.
    """
    text = resources.files(__package__).joinpath("ntu_damaged.txt").read_text(encoding="ascii")
    return frozenset(line for line in text.split() if not line.startswith("#"))


def split_column(kind: str, metadata: dict[str, np.ndarray], *, seed: int = 0) -> np.ndarray:
    """Return "train" or "test" for each sample, by one of :data:`SPLITS`; ``seed`` is for the random half."""
    if kind == "cross-view":
        train = np.isin(metadata["camera"], TRAINING_CAMERAS)
    elif kind == "cross-subject":
        train = np.isin(metadata["subject"], TRAINING_SUBJECTS)
    elif kind == "random-half":
        train = random_half(len(metadata["camera"]), seed=seed)
    else:
        raise ValueError(f"split={kind!r}: choose from {', '.join(SPLITS)}")
    return np.where(train, "train", "test")
