"""MAMEM-SSVEP-II from its recordings: MOABB's ``MAMEM2`` through the paper's protocol.

Protocol (the paper's appendix, after Wei et al. 2019 and Pan, Chou and Wei, NeurIPS 2022): 8 occipital channels, four
1-s segments of each trial from 1 to 5 s after the cue, 125 Hz. The publications at hand do not state the filter; the
preprocessed files do: their spectrum falls by a factor of 17 between 40 and 41 Hz and rolls off at 0.5 Hz.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import checks
from .cache import atomic_file
from .errors import CorruptDataError, MissingDataError
from .extras import require
from .files import read_npz
from .mamem import CHANNELS, CITATION, FREQUENCIES, LICENCE, SAMPLING_RATE, SEGMENTS_PER_TRIAL, SPLIT_OF_SESSION
from .moabb import download_folder
from .registry import DatasetInfo, register
from .types import SignalDataset

__all__ = ["ELECTRODES", "epochs_of_run", "from_recordings", "load_mamem_raw"]

#: The HydroCel electrode at each 10-10 position: Electrical Geodesics, "HydroCel Geodesic Sensor Net, 10-10
#: equivalents" (www.egi.com/images/HydroCelGSN_10-10.pdf; after Luu and Ferree, Determination of the HydroCel
#: Geodesic Sensor Nets' average electrode positions and their 10-10 international equivalents, EGI 2005).
ELECTRODES: Mapping[str, str] = {
    "PO7": "E97",
    "PO3": "E109",
    "O1": "E116",
    "POz": "E119",
    "Oz": "E126",
    "PO4": "E140",
    "O2": "E150",
    "PO8": "E161",
}

_PREPARED = "segments.npz"
_FIRST_SECOND = 1.0
_BAND = (0.5, 40.0)


def epochs_of_run(
    raw: Any, *, events: Mapping[str, int], electrodes: Mapping[str, str] = ELECTRODES
) -> tuple[np.ndarray, np.ndarray]:
    """Cut one recording (a session of the experiment) into the protocol's segments.

    Parameters
    ----------
    raw : mne.io.Raw
        256 channels named E1 to E256 and a stimulus channel, or annotations.
    events : mapping of str to int
        Event names and codes, as MOABB's ``MAMEM2.event_id`` has them (codes 1 to 5 in order of frequency).
    electrodes : mapping of str to str
        The electrode at each position.

    Returns
    -------
    x : ndarray, shape (4 * trials, 8, 125)
        In volts; the channels in the order of :data:`~.mamem.CHANNELS`.
    y : ndarray of int64, shape (4 * trials,)
        0 to 4 in order of frequency.
    """
    mne = require("mne", extra="eeg", purpose="MAMEM's recordings")
    codes = sorted(events.values())
    picks = [electrodes[name] for name in CHANNELS]
    missing = [name for name in picks if name not in raw.ch_names]
    if missing:
        raise CorruptDataError(f"the recording lacks the electrodes {missing}; are its channels named E1 to E256?")
    if len(mne.pick_types(raw.info, meg=False, eeg=False, stim=True)):
        found = mne.find_events(raw, shortest_event=0, verbose=False)
    else:
        found, _ = mne.events_from_annotations(raw, event_id=dict(events), verbose=False)
    cues = found[np.isin(found[:, 2], codes)]
    if not len(cues):
        raise CorruptDataError(f"the recording has no events with the codes {codes}")
    eeg = raw.copy().pick(picks).load_data(verbose=False).reorder_channels(picks)
    eeg.filter(*_BAND, l_trans_bandwidth=0.5, h_trans_bandwidth=1.0, verbose=False)
    signal, rate = eeg.get_data(), float(eeg.info["sfreq"])
    onset = (cues[:, 0] - raw.first_samp) / rate
    if rate != SAMPLING_RATE:
        eeg.resample(SAMPLING_RATE, verbose=False)
        signal = eeg.get_data()
    first = np.round((onset + _FIRST_SECOND) * SAMPLING_RATE).astype(np.int64)
    width = int(SAMPLING_RATE)
    span = SEGMENTS_PER_TRIAL * width
    if first.min() < 0 or first.max() + span > signal.shape[1]:
        raise CorruptDataError("the recording ends before the last trial's 5 s are over")
    cut = signal[:, first[:, None] + np.arange(span)]
    segments = cut.reshape(len(picks), len(first), SEGMENTS_PER_TRIAL, width).transpose(1, 2, 0, 3)
    y = np.repeat(np.searchsorted(codes, cues[:, 2]), SEGMENTS_PER_TRIAL)
    return segments.reshape(-1, len(picks), width), y.astype(np.int64)


def from_recordings(
    dataset: Any,
    *,
    subjects: Iterable[int] | None = None,
    electrodes: Mapping[str, str] = ELECTRODES,
    dtype: str | np.dtype = "float64",
    progress: bool = False,
) -> SignalDataset:
    """Run the protocol over a MOABB data set object shaped as ``MAMEM2``: one session, five runs a subject.

    The five runs are the experiment's sessions 1 to 5, in order; ``x`` is in microvolts, as in the
    preprocessed files.
    """
    chosen = list(dataset.subject_list) if subjects is None else [int(subject) for subject in subjects]
    signals, labels, columns = [], [], []
    tqdm = require("tqdm", extra="data", purpose="the progress bar")
    for subject in tqdm.tqdm(chosen, unit="subject", disable=None if progress else True):
        # One subject at a time: all of them are 8 GB of samples.
        (sessions,) = dataset.get_data([subject]).values()
        runs = [raw for _, session in sorted(sessions.items()) for _, raw in sorted(session.items())]
        if len(runs) != len(SPLIT_OF_SESSION):
            raise CorruptDataError(f"subject {subject} has {len(runs)} recordings, expected {len(SPLIT_OF_SESSION)}")
        for session, raw in enumerate(runs, start=1):
            x, y = epochs_of_run(raw, events=dataset.event_id, electrodes=electrodes)
            signals.append((x * 1e6).astype(dtype))
            labels.append(y)
            columns.append(
                np.array([[subject, session, k // SEGMENTS_PER_TRIAL, k % SEGMENTS_PER_TRIAL] for k in range(len(y))])
            )
    table = np.concatenate(columns)
    return _dataset(np.concatenate(signals), np.concatenate(labels), table)


def load_mamem_raw(root: Path, *, dtype: str | np.dtype = "float64") -> SignalDataset:
    """Load what :func:`prepare_mamem_raw` wrote; the same columns as :func:`~.mamem.load_mamem`."""
    path = root / INFO.folder / _PREPARED
    if not path.is_file():
        raise MissingDataError(f"{INFO.title}: {path} is not there. {INFO.instructions}")
    content = read_npz(path, ("x", "y", "table"))
    x, table = content["x"], content["table"]
    checks.shape(x, (None, len(CHANNELS), int(SAMPLING_RATE)), what=f"{path}: x")
    checks.finite(x, what=f"{path}: x")
    checks.shape(table, (len(x), 4), what=f"{path}: table")
    if not np.isin(table[:, 1], list(SPLIT_OF_SESSION)).all():
        raise CorruptDataError(f"{path}: table: sessions must lie in 1 to {len(SPLIT_OF_SESSION)}")
    return _dataset(x.astype(dtype, copy=False), checks.labels_of(content["y"], what=str(path)), table)


def prepare_mamem_raw(root: Path, *, progress: bool = True) -> Path:
    """Download all recordings through MOABB (about 5 GB) and write their segments."""
    datasets = require("moabb.datasets", extra="eeg", purpose=INFO.title)
    with download_folder(root / "moabb"):
        result = from_recordings(datasets.MAMEM2(), progress=progress)
    return write_segments(result, root / INFO.folder / _PREPARED)


def write_segments(result: SignalDataset, target: Path) -> Path:
    """Write what :func:`from_recordings` returned to a file that :func:`load_mamem_raw` reads."""
    table = np.stack([result.column(name) for name in ("subject", "session", "trial", "segment")], axis=1)
    with atomic_file(target) as stream:
        np.savez_compressed(stream, x=result.x, y=result.y, table=table)
    return target


def _dataset(x: np.ndarray, y: np.ndarray, table: np.ndarray) -> SignalDataset:
    subject, session, trial, segment = table.T
    return SignalDataset(
        name=INFO.name,
        x=x,
        y=y,
        class_names=FREQUENCIES,
        metadata={
            "subject": subject,
            "session": session,
            "split": np.array([SPLIT_OF_SESSION[s] for s in session.tolist()]),
            "recording": np.char.add(np.char.add(subject.astype(str), "/"), session.astype(str)),
            "trial": trial,
            "segment": segment,
        },
        licence=LICENCE,
        citation=CITATION,
        sampling_rate=SAMPLING_RATE,
        channel_names=CHANNELS,
    )


INFO = register(
    DatasetInfo(
        name="mamem-raw",
        title="MAMEM-SSVEP-II, from the recordings",
        kind="signals",
        loader=load_mamem_raw,
        description="The recordings (256 channels) through the paper's protocol: 8 channels, 1-s segments, 125 Hz",
        licence=LICENCE,
        citation=CITATION,
        homepage="https://doi.org/10.6084/m9.figshare.3153409",
        folder="mamem_raw",
        instructions="Run `spdnorm data prepare mamem-raw`, which downloads the recordings (about 5 GB) through MOABB.",
        prepare=prepare_mamem_raw,
    )
)
