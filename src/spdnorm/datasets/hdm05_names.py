"""HDM05: the classes of the cut sequences, and what is published of the choice of 117 of them.

The directory names of ``HDM05_cut_amc`` (Mueller et al., CG-2007-2; resources.mpi-inf.mpg.de/HDM05).

The publications say of the reduced set only that "under-represented" clips were left out, which takes the 2,337
sequences of 130 classes to 2,086 of 117 (Brooks et al., NeurIPS 2019). No list was published, and leaving out whole
classes cannot be all of it: 251 sequences went, and the 13 smallest of 130 classes hold at most 13/130 of 2,337, that
is 233. The rule here is therefore the part that is certain: the 117 classes with the most sequences.
"""

from __future__ import annotations

from importlib import resources

import numpy as np

from .errors import CorruptDataError

__all__ = ["CLASSES", "N_REDUCED_CLASSES", "largest_classes", "parse_amc_name"]

N_REDUCED_CLASSES = 117

#: The 130 classes, in alphabetical order, which is the order of the labels.
CLASSES = tuple(resources.files(__package__).joinpath("hdm05_classes.txt").read_text(encoding="ascii").split())


def largest_classes(y: np.ndarray, *, n_classes: int = N_REDUCED_CLASSES) -> np.ndarray:
    """Return the labels of the ``n_classes`` classes with the most sequences, in ascending order.

    Ties go to the smaller label. With ``n_classes`` or fewer classes present, all are kept.
    """
    labels, counts = np.unique(y, return_counts=True)
    order = np.lexsort((labels, -counts))
    return np.sort(labels[order[:n_classes]])


def parse_amc_name(name: str) -> dict[str, str]:
    """Return actor, motion class, take and frame rate of ``HDM_<actor>_<class>_<take>_<rate>.amc``."""
    parts = name.removesuffix(".amc").removesuffix(".AMC").split("_")
    if len(parts) != 5 or parts[0] != "HDM" or not parts[4].isdigit():
        raise CorruptDataError(f"{name!r} is not a name of the form HDM_bd_clap1Reps_001_120.amc")
    return dict(zip(("actor", "motion", "take", "rate"), parts[1:], strict=True))
