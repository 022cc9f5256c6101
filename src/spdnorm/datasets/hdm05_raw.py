"""HDM05 from its raw release: ASF/AMC files to covariances of 31 joint positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import checks
from .archive import unpacked_files
from .asf_amc import read_amc, read_asf
from .cache import atomic_file, dataset_folder
from .covariances import covariance
from .errors import CorruptDataError, MissingDataError
from .extras import require
from .files import files_below, read_npz
from .hdm05 import CITATION, LICENCE, N_FEATURES
from .hdm05_names import CLASSES, largest_classes, parse_amc_name
from .kinematics import joint_positions
from .registry import DatasetInfo, register
from .splits import random_half
from .triangles import from_upper_triangle, to_upper_triangle
from .types import MatrixDataset

__all__ = ["load_hdm05_raw", "prepare_hdm05_raw"]

_PREPARED = "covariances.npz"


def load_hdm05_raw(
    root: Path,
    *,
    reduced: bool = False,
    regularization: float = 0.0,
    dtype: str | np.dtype = "float64",
    seed: int = 0,
) -> MatrixDataset:
    """Load the covariances that ``prepare_hdm05_raw`` made.

    Parameters
    ----------
    root : Path
        Data root.
    reduced : bool
        Keep the 117 classes with the most sequences (see :mod:`~.hdm05_names` for what is published of that
        choice).
    regularization : float
        lambda of ``X + lambda I``.
    dtype : floating dtype
        Of the matrices.
    seed : int
        Of the random half in the metadata column ``split``.

    Returns
    -------
    MatrixDataset
        ``x`` (2337, 93, 93) for the whole release; metadata ``subject`` (the actor), ``recording``,
        ``split``.
    """
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    if not (folder / _PREPARED).is_file():
        raise MissingDataError(
            f"{folder} has not been prepared; run `spdnorm data prepare hdm05-raw`. {INFO.instructions}"
        )
    path = folder / _PREPARED
    content = read_npz(path, ("x", "y", "subject", "recording", "class_names"))
    checks.shape(content["x"], (None, N_FEATURES * (N_FEATURES + 1) // 2), what=f"{path}: x (upper triangles)")
    checks.finite(content["x"], what=f"{path}: x")
    y, class_names = checks.labels_of(content["y"], what=str(path)), content["class_names"]
    checks.labels(y, n=len(content["x"]), n_classes=len(class_names), what=str(path))
    rows = np.arange(len(y))
    if reduced:
        kept = largest_classes(y)
        rows = np.flatnonzero(np.isin(y, kept))
        y, class_names = np.searchsorted(kept, y), class_names[kept]
    x = from_upper_triangle(content["x"][rows].astype(dtype, copy=False), n=N_FEATURES)
    if regularization:
        x += regularization * np.eye(N_FEATURES, dtype=x.dtype)
    train = random_half(len(rows), seed=seed)
    return MatrixDataset(
        name=INFO.name,
        x=x,
        y=y[rows],
        class_names=tuple(class_names.tolist()),
        metadata={
            "subject": content["subject"][rows],
            "recording": content["recording"][rows],
            "split": np.where(train, "train", "test"),
        },
        licence=LICENCE,
        citation=CITATION,
        regularization=regularization,
    )


def prepare_hdm05_raw(root: Path, *, progress: bool = True) -> Path:
    """Read every AMC file under ``hdm05_raw`` and write the covariances of its joint positions.

    A motion class is a folder (``HDM05_cut_amc/<class>/HDM_<actor>_<class>_<take>_120.amc``); the skeletons
    ``HDM_<actor>.asf`` may lie anywhere below. One sequence is held at a time.
    """
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    motions = unpacked_files(folder, ".amc")
    skeletons = {path.stem.lower(): read_asf(path) for path in files_below(folder, ".asf")}
    found = sorted({path.parent.name for path in motions})
    # The labels are those of the whole release where part of it is here; folders of other names make their own.
    class_names = list(CLASSES) if set(found) <= set(CLASSES) else found
    triangles = np.empty((len(motions), N_FEATURES * (N_FEATURES + 1) // 2))
    subjects: list[str] = []
    tqdm = require("tqdm", extra="data", purpose="the progress bar")
    for row, path in zip(triangles, tqdm.tqdm(motions, unit="file", disable=None if progress else True), strict=True):
        actor = parse_amc_name(path.name)["actor"]
        skeleton = skeletons.get(f"hdm_{actor}".lower())
        if skeleton is None:
            raise MissingDataError(f"{path} needs the skeleton HDM_{actor}.asf, which is not below {folder}")
        positions = joint_positions(skeleton, read_amc(path, skeleton))
        if positions.shape[1] * 3 != N_FEATURES or len(positions) < 2:
            raise CorruptDataError(f"{path}: {positions.shape[0]} frames of {positions.shape[1]} joints, expected 31")
        signal = positions.reshape(1, len(positions), N_FEATURES).swapaxes(1, 2)
        row[:] = to_upper_triangle(covariance(signal))[0]
        subjects.append(actor)
    target = folder / _PREPARED
    with atomic_file(target) as stream:
        np.savez_compressed(
            stream,
            x=triangles,
            y=np.array([class_names.index(path.parent.name) for path in motions]),
            subject=np.array(subjects),
            recording=np.array([path.stem for path in motions]),
            class_names=np.array(class_names),
        )
    return target


INFO = register(
    DatasetInfo(
        name="hdm05-raw",
        title="HDM05, raw release",
        kind="matrices",
        loader=load_hdm05_raw,
        description="2,337 cut sequences of 130 classes as 93x93 covariances, made here from ASF/AMC files",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://resources.mpi-inf.mpg.de/HDM05/",
        folder="hdm05_raw",
        instructions="Get the cut sequences in ASF/AMC (HDM05_cut_amc.zip) and the five HDM_*.asf skeletons from "
        "https://resources.mpi-inf.mpg.de/HDM05/, place them in the folder `hdm05_raw` of the data directory, and run "
        "`spdnorm data prepare hdm05-raw`.",
        prepare=prepare_hdm05_raw,
    )
)
