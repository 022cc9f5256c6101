"""NTU RGB+D: 56,880 recordings of 60 actions as 75x75 covariances of the main body's joints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .archive import unpacked_files
from .cache import dataset_folder
from .covariances import covariance
from .errors import CorruptDataError
from .ntu_convert import FAILURES, convert, open_converted, read_failures
from .ntu_names import ACTIONS, SPLITS, parse_name, split_column
from .registry import DatasetInfo, register
from .skeleton import N_JOINTS
from .skeleton_windows import crop_resize, random_rotation
from .types import MatrixDataset, SignalDataset

__all__ = ["load_ntu", "load_ntu_signals", "prepare_ntu", "skeleton_covariances"]

LICENCE = "for academic research, on request to the ROSE Lab (Nanyang Technological University)"
CITATION = (
    "Shahroudy, Liu, Ng, Wang, NTU RGB+D: a large scale dataset for 3D human activity analysis, CVPR 2016; "
    "preprocessing: Katsman et al., Riemannian residual neural networks, NeurIPS 2023"
)
_CONVERTED = "converted"
_CHUNK = 512


def load_ntu_signals(root: Path, *, split: str = "cross-view", seed: int = 0) -> SignalDataset:
    """Load the converted joint positions; ``x`` (N, 75, 300) stays on disk, a memory map.

    Damaged and unreadable samples have length 0 and are left out of every split: select by ``lengths > 0``, or use
    :func:`load_ntu`. Metadata: ``subject``, ``camera``, ``setup``, ``replication``, ``recording``, ``split``.
    """
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    signals, lengths, names = open_converted(folder / _CONVERTED)
    parsed = [parse_name(name) for name in names]
    metadata = {key: np.array([entry[key] for entry in parsed]) for key in parsed[0]}
    y = metadata.pop("action").astype(np.int64) - 1
    metadata["recording"] = np.array(names)
    metadata["split"] = np.where(lengths > 0, split_column(split, metadata, seed=seed), "none")
    return SignalDataset(
        name=INFO.name,
        x=signals,
        y=y,
        class_names=tuple(ACTIONS),
        metadata=metadata,
        licence=LICENCE,
        citation=CITATION,
        sampling_rate=30.0,
        channel_names=tuple(f"joint{j}.{axis}" for j in range(1, N_JOINTS + 1) for axis in "xyz"),
        lengths=lengths,
    )


def load_ntu(
    root: Path,
    *,
    split: str = "cross-view",
    seed: int = 0,
    window: int = 64,
    crop: float | tuple[float, float] = 0.95,
    rotate: bool = False,
    regularization: float = 1e-6,
    normalize: str | None = "trace",
    dtype: str | np.dtype = "float32",
) -> MatrixDataset:
    """Load NTU RGB+D as covariances.

    Parameters
    ----------
    root : Path
        Data root; the conversion is in ``ntu/converted``.
    split : "cross-view", "cross-subject" or "random-half"
        What the metadata column ``split`` says.
    seed : int
        Of the random half, the random crop and the rotation.
    window, crop, rotate
        As of :func:`skeleton_covariances`.
    regularization, normalize
        The released script divides by the trace and then adds 1e-6 I.
    dtype : floating dtype
        Of the matrices; the work is done in float64.

    Returns
    -------
    MatrixDataset
        ``x`` (N, 75, 75); N is 56,578 for the whole release (56,880 less the 302 damaged samples).
    """
    signals = load_ntu_signals(root, split=split, seed=seed)
    assert signals.lengths is not None
    keep = np.flatnonzero(signals.lengths > 1)
    rng = np.random.default_rng(seed)
    x = np.empty((len(keep), signals.n_channels, signals.n_channels), dtype=dtype)
    for start in range(0, len(keep), _CHUNK):
        rows = keep[start : start + _CHUNK]
        x[start : start + len(rows)] = skeleton_covariances(
            signals.x[rows],
            signals.lengths[rows],
            window=window,
            crop=crop,
            rotate=rotate,
            rng=rng,
            regularization=regularization,
            normalize=normalize,
        )
    return MatrixDataset(
        name=INFO.name,
        x=x,
        y=signals.y[keep],
        class_names=signals.class_names,
        metadata={key: values[keep] for key, values in signals.metadata.items()},
        licence=LICENCE,
        citation=CITATION,
        feature_names=signals.channel_names,
        regularization=regularization,
    )


def skeleton_covariances(
    x: np.ndarray,
    lengths: np.ndarray,
    *,
    window: int = 64,
    crop: float | tuple[float, float] = 0.95,
    rotate: bool = False,
    rng: np.random.Generator | None = None,
    **options: Any,
) -> np.ndarray:
    """Return one covariance (N, 75, 75) in float64 for each sequence: crop, resize, rotate if asked,
    covariance.

    Parameters
    ----------
    x, lengths, window, crop, rng
        As of :func:`~.skeleton_windows.crop_resize`. Training takes ``crop=(0.5, 1.0)``.
    rotate : bool
        Turn each sequence by random angles up to 0.3 radians.
    **options
        As of :func:`~.covariances.covariance`.
    """
    resized = crop_resize(np.asarray(x, dtype=np.float64), lengths, window=window, crop=crop, rng=rng)
    if rotate:
        if rng is None:
            raise ValueError("rotate=True needs rng, a numpy Generator")
        resized = random_rotation(resized, rng=rng)
    return covariance(resized, **options)


def prepare_ntu(
    root: Path, *, workers: int = 2, progress: bool = True, restart: bool = False, source: Path | None = None
) -> Path:
    """Convert the ``.skeleton`` files under ``root/ntu`` (or ``source``); archives there are unpacked first.

    Files that cannot be read are an error once all others are converted: those can be loaded without them.
    """
    folder = root / INFO.folder
    if source is None:
        folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
        unpacked_files(folder, ".skeleton")
    target = convert(
        source or folder, root / INFO.folder / _CONVERTED, workers=workers, progress=progress, restart=restart
    )
    if failures := read_failures(target):
        first, reason = next(iter(failures.items()))
        raise CorruptDataError(
            f"{len(failures)} files could not be converted, the first {first} ({reason}); {target / FAILURES} lists "
            "them. All others are converted and can be loaded; place these anew and run again, which reads only them"
        )
    return target


INFO = register(
    DatasetInfo(
        name="ntu",
        title="NTU RGB+D",
        kind="matrices",
        loader=load_ntu,
        description=f"56,880 recordings of 60 actions, 75x75 covariances of 25 joints; splits: {', '.join(SPLITS)}",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://rose1.ntu.edu.sg/dataset/actionRecognition/",
        folder="ntu",
        instructions="Ask for the data set on https://rose1.ntu.edu.sg/dataset/actionRecognition/, place the archive "
        "nturgbd_skeletons_s001_to_s017.zip (or the .skeleton files) in its folder `ntu`, and run "
        "`spdnorm data prepare ntu`.",
        prepare=prepare_ntu,
    )
)
