"""MAMEM-SSVEP-II, as the paper used it: the preprocessed per-subject files and the split by session."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from . import checks
from .cache import dataset_folder
from .download import fetch
from .errors import CorruptDataError
from .files import read_mat, require_files
from .registry import DatasetInfo, RemoteFile, register
from .types import SignalDataset

__all__ = ["CHANNELS", "CHANNELS_AS_LISTED", "FREQUENCIES", "SPLIT_OF_SESSION", "SUBJECTS", "load_mamem"]

SUBJECTS = tuple(range(1, 12))
FREQUENCIES = ("6.66 Hz", "7.50 Hz", "8.57 Hz", "10.00 Hz", "12.00 Hz")
SAMPLING_RATE = 125.0

#: The files name no channels. These are the eight that publications on this preprocessing name, in the order of their
#: electrode numbers (E97, E109, E116, E119, E126, E140, E150, E161), which the signals bear out: of all 40,320
#: orders, this one and its mirror image give the strongest rank correlation between the channels' distance on the
#: scalp and their correlation (-0.94 over all subjects); the order as listed in print gives -0.09.
CHANNELS = ("PO7", "PO3", "O1", "POz", "Oz", "PO4", "O2", "PO8")
#: The same eight as publications list them; not the order of the files.
CHANNELS_AS_LISTED = ("PO7", "PO3", "POz", "PO4", "PO8", "O1", "Oz", "O2")

#: The paper's protocol: sessions 1 to 3 train, 4 validates, 5 tests.
SPLIT_OF_SESSION = {1: "train", 2: "train", 3: "train", 4: "validation", 5: "test"}

ROWS_PER_SESSION = 100
SEGMENTS_PER_TRIAL = 4

LICENCE = "ODC-BY 1.0 (MAMEM EEG SSVEP Dataset II, CERTH)"
CITATION = (
    "Nikolopoulos et al., MAMEM EEG SSVEP Dataset II (256 channels, 11 subjects, 5 frequencies presented "
    "simultaneously), figshare, doi:10.6084/m9.figshare.3153409; Oikonomou et al., Comparative evaluation of "
    "state-of-the-art algorithms for SSVEP-based BCIs, arXiv:1602.00904; preprocessing: Pan, Chou and Wei, MAtt: "
    "a manifold attention network for EEG decoding, NeurIPS 2022"
)

_SOURCE = "https://raw.githubusercontent.com/jjscc/GBWBN/1ec3232/GBWBN_SPDNet/experiments/data/MAMEM/"
_HASHES = {
    "U001.mat": "f0038f1f59698c5fbfd11496b7a2e10e534eabd08e2f086acbd88dec73381bb9",
    "U002.mat": "6aa75a5a48d19881687bae17ad296be5c9c8ebe9f44d1cace12999441d0ea6ad",
    "U003.mat": "51c3cf3b78a3dd320b3ce1778cf9cda264332fe8f0257c8769594e1748710f8f",
    "U004.mat": "31fd1af3ad1ee9deac2a25ab46c4f51528a131b6eb3786517aa3afb2dd052e27",
    "U005.mat": "71eda11e276ccdc04289b9bc7cdc8b81d2c6b2067b923d283f74f3c931c39394",
    "U006.mat": "26d8d2217ca5a721155b840dc1dd25812577ba3b2f89acdc4f155096ba992f44",
    "U007.mat": "4c5ff7152cf8d2109c7fc14cf3db0efd82d8105431a0ca31e95ac9e8556e9d3e",
    "U008.mat": "253d61feef3ca70393e05962e6ba40ed68351eb46ab9f73e99ef2535765e76dd",
    "U009.mat": "3032972728ab118953577b7124068b01514a58c36845ac772a4f9f83f058d64c",
    "U010.mat": "f12b61d9c226e7d9a79e975916840958b99a80fa5f26613316a6946e218797b7",
    "U011.mat": "dc9aef4918a7f4c249982df3ff6abec158a80d0c6fd8b35e57da17784d51e33d",
}


def _file_name(subject: int) -> str:
    return f"U{subject:03d}.mat"


def load_mamem(
    root: Path,
    *,
    subjects: Iterable[int] = SUBJECTS,
    dtype: str | np.dtype = "float64",
    download: bool = True,
    verify: bool = False,
) -> SignalDataset:
    """Load the paper's EEG benchmark.

    Parameters
    ----------
    root : Path
        Data root; the files are ``mamem/U001.mat`` to ``mamem/U011.mat``.
    subjects : iterable of int
        Which of subjects 1 to 11.
    dtype : floating dtype
        The files hold float64.
    download : bool
        Fetch the files that are missing; those that are there are left as they are.
    verify : bool
        Check every file against its recorded SHA-256 before reading it.

    Returns
    -------
    SignalDataset
        ``x`` (500 for each subject, 8, 125): 8 occipital channels, 1 s at 125 Hz; metadata ``subject``,
        ``session`` (1 to 5), ``split``, ``recording``, ``trial`` (within the session) and ``segment`` (0 to
        3).
    """
    chosen = tuple(dict.fromkeys(int(subject) for subject in subjects))
    unknown = sorted(set(chosen) - set(SUBJECTS))
    if unknown or not chosen:
        raise ValueError(f"subjects={list(chosen)}: choose from {SUBJECTS[0]} to {SUBJECTS[-1]}")
    wanted = [_file_name(subject) for subject in chosen]
    missing = [name for name in wanted if not (root / INFO.folder / name).is_file()]
    if download and missing:
        fetch(INFO, root, only=missing)  # and not the others: loading replaces no file
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    paths = require_files(folder, wanted, title=INFO.title, instructions=INFO.instructions)
    if verify:
        fetch(INFO, root, only=wanted, offline=True)
    parts = [_read_subject(path) for path in paths]
    x = np.concatenate([part[0] for part in parts]).astype(dtype, copy=False)
    y = np.concatenate([part[1] for part in parts])
    return SignalDataset(
        name=INFO.name,
        x=x,
        y=y,
        class_names=FREQUENCIES,
        metadata=session_metadata(chosen),
        licence=LICENCE,
        citation=CITATION,
        sampling_rate=SAMPLING_RATE,
        channel_names=CHANNELS,
    )


def session_metadata(subjects: Iterable[int]) -> dict[str, np.ndarray]:
    """Return the metadata of subjects with 500 rows each in session order, 25 trials of 4 segments."""
    chosen = np.asarray(list(subjects))
    row = np.arange(len(SPLIT_OF_SESSION) * ROWS_PER_SESSION)
    session = np.tile(row // ROWS_PER_SESSION + 1, len(chosen))
    subject = np.repeat(chosen, len(row))
    return {
        "subject": subject,
        "session": session,
        "split": np.array([SPLIT_OF_SESSION[s] for s in session.tolist()]),
        "recording": np.char.add(np.char.add(subject.astype(str), "/"), session.astype(str)),
        "trial": np.tile(row % ROWS_PER_SESSION // SEGMENTS_PER_TRIAL, len(chosen)),
        "segment": np.tile(row % SEGMENTS_PER_TRIAL, len(chosen)),
    }


def _read_subject(path: Path) -> tuple[np.ndarray, np.ndarray]:
    content = read_mat(path, ("x_test", "y_test"))
    rows = len(SPLIT_OF_SESSION) * ROWS_PER_SESSION
    x = content["x_test"]
    checks.shape(x, (rows, len(CHANNELS), int(SAMPLING_RATE)), what=f"{path}: x_test")
    checks.finite(x, what=f"{path}: x_test")
    y = checks.labels_of(content["y_test"].reshape(-1), what=str(path))
    checks.labels(y, n=rows, n_classes=len(FREQUENCIES), what=str(path))
    trials = y.reshape(-1, SEGMENTS_PER_TRIAL)
    if (trials != trials[:, :1]).any():
        raise CorruptDataError(f"{path}: the four segments of a trial differ in label: rows are not in order")
    return x, y


INFO = register(
    DatasetInfo(
        name="mamem",
        title="MAMEM-SSVEP-II",
        kind="signals",
        loader=load_mamem,
        description="SSVEP EEG of 11 subjects in 5 sessions, 5 flicker frequencies; 8 channels, 1 s at "
        "125 Hz, preprocessed as the paper used it",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://github.com/jjscc/GBWBN",
        folder="mamem",
        files=tuple(RemoteFile(name=name, sha256=sha, url=_SOURCE + name) for name, sha in _HASHES.items()),
        instructions="Run `spdnorm data fetch mamem`, or place U001.mat to U011.mat from "
        "https://github.com/jjscc/GBWBN (GBWBN_SPDNet/experiments/data/MAMEM) in its folder `mamem`.",
    )
)
