"""SSVEP exoskeleton EEG (Kalunga et al. 2016): 12 subjects, 8 channels, rest and three frequencies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from . import checks
from .cache import atomic_file, dataset_folder
from .extras import require
from .files import read_npz, require_files
from .moabb import download_folder, from_moabb
from .registry import DatasetInfo, RemoteFile, register
from .types import SignalDataset

__all__ = ["load_ssvep_exoskeleton"]

_PREPARED = "epochs_from_moabb.npz"

LICENCE = "CC0 1.0"
CITATION = (
    "Kalunga, Chevallier, Barthélemy, Djouani, Monacelli, Hamam, "
    "Online SSVEP-based BCI using Riemannian geometry, Neurocomputing 191 (2016) 55-68"
)


def load_ssvep_exoskeleton(root: Path, *, dtype: str | np.dtype = "float32") -> SignalDataset:
    """Load ``ssvep_exoskeleton/epochs.npz``, or where it is absent what :func:`prepare_ssvep_exoskeleton` made.

    Parameters
    ----------
    root : Path
        Data root.
    dtype : floating dtype
        The file holds float32.

    Returns
    -------
    SignalDataset
        ``x`` (1056, 8, 1280): 5 s at 256 Hz; metadata ``subject`` (1 to 12), ``session`` (one for each recording,
        counted over all subjects) and ``recording`` (its file name).
    """
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    name = _PREPARED if not (folder / "epochs.npz").exists() and (folder / _PREPARED).exists() else "epochs.npz"
    (path,) = require_files(folder, [name], title=INFO.title, instructions=INFO.instructions)
    keys = ("x", "y", "subject", "session", "session_names", "ch_names", "class_names", "sfreq")
    content = read_npz(path, keys)
    x, session = content["x"], content["session"]
    checks.shape(x, (None, len(content["ch_names"]), None), what=f"{path}: x")
    checks.finite(x, what=f"{path}: x")
    checks.labels(session, n=len(x), n_classes=len(content["session_names"]), what=f"{path}: session")
    return SignalDataset(
        name=INFO.name,
        x=x.astype(dtype, copy=False),
        y=checks.labels_of(content["y"], what=str(path)),
        class_names=tuple(content["class_names"].tolist()),
        metadata={
            "subject": content["subject"],
            "session": session,
            "recording": content["session_names"][session],
        },
        licence=LICENCE,
        citation=CITATION,
        sampling_rate=float(content["sfreq"]),
        channel_names=tuple(content["ch_names"].tolist()),
    )


def prepare_ssvep_exoskeleton(root: Path) -> Path:
    """Download the recordings through MOABB (its ``Kalunga2016``) and write 5 s of each trial from its cue."""
    datasets = require("moabb.datasets", extra="eeg", purpose=INFO.title)
    with download_folder(root / "moabb"):
        return write_epochs(datasets.Kalunga2016(), root / INFO.folder / _PREPARED)


def write_epochs(dataset: Any, target: Path, *, seconds: float = 5.0) -> Path:
    """Write the trials of a MOABB data set shaped as ``Kalunga2016`` in the layout of ``epochs.npz``."""
    # The recordings' own unit, as epochs.npz has it: the data set's factor to microvolts is taken back.
    # MOABB counts from the start of the data set's interval; the trial starts at the cue.
    start = -float(dataset.interval[0])
    epochs = from_moabb(dataset, name=INFO.name, fmin=1.0, fmax=45.0, tmin=start, tmax=start + seconds, baseline=None)
    length = round(seconds * epochs.sampling_rate)
    names = [f"{name}Hz" if name.replace(".", "").isdigit() else name for name in epochs.class_names]
    recordings, session = np.unique(epochs.column("recording"), return_inverse=True)
    with atomic_file(target) as stream:
        np.savez_compressed(
            stream,
            x=epochs.x[..., :length] / np.float32(dataset.unit_factor),
            y=epochs.y,
            subject=epochs.column("subject"),
            session=session,
            session_names=recordings,
            ch_names=np.array(epochs.channel_names),
            class_names=np.array(names),
            sfreq=epochs.sampling_rate,
        )
    return target


INFO = register(
    DatasetInfo(
        name="ssvep-exoskeleton",
        title="SSVEP exoskeleton",
        kind="signals",
        loader=load_ssvep_exoskeleton,
        description="SSVEP EEG of 12 subjects, rest and 13, 21, 17 Hz; 8 channels, 5 s at 256 Hz",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://github.com/sylvchev/dataset-ssvep-exoskeleton",
        folder="ssvep_exoskeleton",
        files=(
            RemoteFile(
                name="epochs.npz",
                sha256="f44f02340306402072175576079e548575908f9ddf8364d80824dbeb84516933",
            ),
        ),
        instructions="Run `spdnorm data prepare ssvep-exoskeleton` (downloads the recordings through MOABB), "
        "or place epochs.npz in its folder `ssvep_exoskeleton`.",
        prepare=prepare_ssvep_exoskeleton,
    )
)
