"""HDM05 motion capture: the pre-processed covariances, the raw release, and its 11-class subset."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import numpy as np

from . import checks
from .archive import unpacked_files
from .bundled import pad
from .cache import dataset_folder
from .errors import CorruptDataError, MissingDataError
from .files import files_below, read_npy, read_npz, require_files
from .hdm05_names import N_REDUCED_CLASSES
from .registry import DatasetInfo, RemoteFile, register
from .splits import random_half
from .types import MatrixDataset, SignalDataset

__all__ = ["load_hdm05", "load_hdm05_11class"]

LICENCE = "CC BY-SA 3.0 (HDM05)"
CITATION = (
    "Müller, Röder, Clausen, Eberhardt, Krüger, Weber, Documentation Mocap Database HDM05, technical report "
    "CG-2007-2, Universität Bonn, 2007. The data used in this project was obtained from HDM05."
)
N_FEATURES = 93
SAMPLING_RATE = 120.0
_NAME = re.compile(r"(\d+)_(\d+)_(\d+)\.npy")


def load_hdm05(
    root: Path,
    *,
    regularization: float = 0.0,
    dtype: str | np.dtype = "float64",
    expect: int | None = 2086,
    seed: int = 0,
) -> MatrixDataset:
    """Load the pre-processed set: one ``{id}_{x}_{label}.npy`` a sequence, 93x93, 117 classes.

    Parameters
    ----------
    root : Path
        Data root; the files lie in ``hdm05`` or in folders below it.
    regularization : float
        lambda of ``X + lambda I``; the files as distributed are regularised already.
    dtype : floating dtype
        Of the matrices.
    expect : int or None
        How many files there must be; None takes any number.
    seed : int
        Of the random half in the metadata column ``split``.

    Returns
    -------
    MatrixDataset
        ``x`` (2086, 93, 93); metadata ``id``, ``x`` (the second number of the name), ``recording``,
        ``split``.
    """
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    found = [path for path in files_below(folder, ".npy") if _NAME.fullmatch(path.name)]
    if not found:
        raise MissingDataError(
            f"{INFO.title}: {folder} holds no files named {{id}}_{{x}}_{{label}}.npy. {INFO.instructions}"
        )
    if expect is not None and len(found) != expect:
        raise MissingDataError(
            f"{INFO.title}: {folder} holds {len(found)} of {expect} files. {INFO.instructions} "
            "(expect=None loads what is there.)"
        )
    x = np.empty((len(found), N_FEATURES, N_FEATURES), dtype=dtype)
    for row, path in zip(x, found, strict=True):
        row[:] = _read_matrix(path)
    ids, extra, y = np.array([path.stem.split("_") for path in found], dtype=np.int64).T
    if regularization:
        x += regularization * np.eye(N_FEATURES, dtype=x.dtype)
    train = random_half(len(x), seed=seed)
    return MatrixDataset(
        name=INFO.name,
        x=x,
        y=y,
        class_names=tuple(f"class {k}" for k in range(N_REDUCED_CLASSES)),
        metadata={
            "id": ids,
            "x": extra,
            "recording": np.array([path.stem for path in found]),
            "split": np.where(train, "train", "test"),
        },
        licence=LICENCE,
        citation=CITATION + " Preprocessing: Brooks et al., Riemannian batch normalization for SPD neural networks, "
        "NeurIPS 2019.",
        regularization=regularization,
    )


def _read_matrix(path: Path) -> np.ndarray:
    matrix = read_npy(path)
    checks.shape(matrix, (N_FEATURES, N_FEATURES), what=str(path))
    if np.iscomplexobj(matrix):
        # Some copies of the set were written by code that left a zero imaginary part.
        if np.abs(matrix.imag).max() > 0:
            raise CorruptDataError(f"{path}: the matrix is complex")
        matrix = matrix.real
    checks.finite(matrix, what=str(path))
    checks.symmetric(matrix[None], what=str(path))
    return matrix


def load_hdm05_11class(root: Path, *, dtype: str | np.dtype = "float32") -> SignalDataset:
    """Load the real 11-class subset of cut sequences: joint positions of 31 joints at 120 Hz, 5 actors.

    Returns
    -------
    SignalDataset
        ``x`` (288, 93, longest) padded with zeros, ``lengths``; metadata ``subject``, ``split``,
        ``recording``.
    """
    info = INFO_11
    folder = dataset_folder(root, info.folder, title=info.title, instructions=info.instructions)
    (path,) = require_files(folder, ["sequences.npz"], title=info.title, instructions=info.instructions)
    content = read_npz(path, ("x", "offsets", "y", "subject", "split", "class_names"))
    frames, offsets = content["x"], content["offsets"]
    checks.shape(frames, (None, N_FEATURES), what=f"{path}: x")
    checks.finite(frames, what=f"{path}: x")
    checks.shape(offsets, (None,), what=f"{path}: offsets")
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(frames) or (np.diff(offsets) < 2).any():
        raise CorruptDataError(f"{path}: offsets do not cut its {len(frames)} frames into sequences")
    sequences = [frames[start:stop].T for start, stop in pairwise(offsets.tolist())]
    x, lengths = pad(sequences, dtype=dtype)
    return SignalDataset(
        name=info.name,
        x=x,
        y=checks.labels_of(content["y"], what=str(path)),
        class_names=tuple(content["class_names"].tolist()),
        metadata={
            "subject": content["subject"],
            "split": content["split"],
            "recording": np.arange(len(x)),
        },
        licence=LICENCE,
        citation=CITATION,
        sampling_rate=SAMPLING_RATE,
        channel_names=tuple(f"joint{j}.{axis}" for j in range(1, 32) for axis in "xyz"),
        lengths=lengths,
    )


def prepare_hdm05(root: Path) -> Path:
    """Unpack the archive that was placed in ``hdm05``."""
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    unpacked_files(folder, ".npy")
    return folder


INFO = register(
    DatasetInfo(
        name="hdm05",
        title="HDM05, pre-processed covariances",
        kind="matrices",
        loader=load_hdm05,
        description="2,086 covariances 93x93 of motion capture, 117 classes: the paper's set",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://resources.mpi-inf.mpg.de/HDM05/",
        folder="hdm05",
        instructions="Its hosts need a browser: get the archive of 2,086 .npy files linked from "
        "https://github.com/GitZH-Chen/RMLR (or https://github.com/jjscc/GBWBN), place it or its files in the folder "
        "`hdm05` of the data directory, and run `spdnorm data prepare hdm05`.",
        prepare=prepare_hdm05,
    )
)

INFO_11 = register(
    DatasetInfo(
        name="hdm05-11class",
        title="HDM05, 11 classes",
        kind="signals",
        loader=load_hdm05_11class,
        description="288 real cut sequences of 11 classes and 5 actors, 31 joints at 120 Hz; methods saturate on it",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://github.com/zhangchi8620/JointLearning-HDM05",
        folder="hdm05_11class",
        files=(
            RemoteFile(
                name="sequences.npz",
                sha256="d14ff8ada6939462dbcd2c6ebd4672f267326849168bd497ee3d38fd4af7bc19",
            ),
        ),
        instructions="Place sequences.npz in its folder `hdm05_11class`; the full raw release is `hdm05-raw`.",
    )
)
