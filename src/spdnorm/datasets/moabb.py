"""Any MOABB data set by name, through MOABB's own paradigms."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np

from .cache import storage_errors
from .errors import DatasetError, DownloadError, UnknownDatasetError
from .extras import require
from .registry import DatasetInfo
from .types import SignalDataset

__all__ = ["from_moabb", "load_moabb", "moabb_info"]

_PARADIGM = {"imagery": "MotorImagery", "ssvep": "SSVEP", "p300": "P300", "cvep": "CVEP"}


def moabb_info(name: str) -> DatasetInfo:
    """Return a registry entry for the MOABB data set of this class name."""

    def loader(root: Path, **options: Any) -> SignalDataset:
        return load_moabb(root, name=name, **options)

    return DatasetInfo(
        name=f"moabb:{name}",
        title=f"{name} (MOABB)",
        kind="signals",
        loader=loader,
        description=f"{name} through MOABB, which downloads it on first use",
        licence="as MOABB's documentation of the data set states",
        citation=f"as https://moabb.neurotechx.com lists for {name}; "
        "and Chevallier et al., The largest EEG-based BCI reproducibility study for open science: "
        "the MOABB benchmark, 2024",
        homepage="https://moabb.neurotechx.com/docs/dataset_summary.html",
        folder="moabb",
        instructions=f"MOABB downloads it on first use: run `spdnorm data info moabb:{name}`.",
    )


def load_moabb(
    root: Path,
    *,
    name: str,
    subjects: Iterable[int] | None = None,
    channels: Iterable[str] | None = None,
    resample: float | None = None,
    fmin: float | None = None,
    fmax: float | None = None,
    tmin: float = 0.0,
    tmax: float | None = None,
    dtype: str | np.dtype = "float32",
) -> SignalDataset:
    """Load a MOABB data set by its class name, such as ``"BNCI2014_001"``.

    Parameters
    ----------
    root : Path
        Data root; MOABB downloads to its folder ``moabb`` unless ``MNE_DATA`` is set.
    name : str
        Class in ``moabb.datasets``.
    subjects : iterable of int, optional
        All where None.
    channels : iterable of str, optional
        All EEG channels where None; the order given is the order returned.
    resample, fmin, fmax, tmin, tmax : float, optional
        As MOABB's paradigms take them; the band defaults to the paradigm's own.
    dtype : floating dtype
        Of ``x``.

    Returns
    -------
    SignalDataset
        ``x`` (trials, channels, times) in microvolts, as MOABB's own arrays; metadata ``subject``, ``session``, ``run``
        and ``recording``.
    """
    datasets = require("moabb.datasets", extra="eeg", purpose=f"the MOABB data set {name}")
    known = {entry.__name__: entry for entry in require_dataset_list()}
    factory = known.get(name) or getattr(datasets, name.replace("-", "_"), None)
    # Of all that the module holds, only a data set is called.
    if not (isinstance(factory, type) and hasattr(factory, "get_data")):
        close = get_close_matches(name, known, n=3)
        raise UnknownDatasetError(
            f"MOABB has no data set {name!r}; close names: {', '.join(close) or 'none'}. "
            "All are listed on https://moabb.neurotechx.com/docs/dataset_summary.html"
        )
    band = {key: value for key, value in (("fmin", fmin), ("fmax", fmax)) if value is not None}
    with download_folder(root / "moabb"):
        return from_moabb(
            factory(),
            name=f"moabb:{name}",
            subjects=subjects,
            dtype=dtype,
            channels=None if channels is None else list(channels),
            resample=resample,
            tmin=tmin,
            tmax=tmax,
            **band,
        )


def from_moabb(
    dataset: Any,
    *,
    name: str,
    subjects: Iterable[int] | None = None,
    dtype: str | np.dtype = "float32",
    paradigm: Any = None,
    **paradigm_options: Any,
) -> SignalDataset:
    """Return the trials of a MOABB data set object, its own paradigm's where none is given."""
    paradigms = require("moabb.paradigms", extra="eeg", purpose=name)
    if paradigm is None:
        if dataset.paradigm not in _PARADIGM:
            raise DatasetError(
                f"{name}: MOABB's paradigm {dataset.paradigm!r} has no default here; "
                f"pass paradigm= (an object of moabb.paradigms). Defaults exist for {sorted(_PARADIGM)}"
            )
        kind = _PARADIGM[dataset.paradigm]
        classes = {"n_classes": len(dataset.event_id)} if kind in ("MotorImagery", "SSVEP") else {}
        paradigm = getattr(paradigms, kind)(**classes, **paradigm_options)
    chosen = None if subjects is None else [int(subject) for subject in subjects]
    epochs, labels, table = paradigm.get_data(dataset=dataset, subjects=chosen, return_epochs=True)
    labels = np.asarray(labels).astype(str)
    # The order of the data set's event codes, which for frequencies is not that of the alphabet.
    codes = {str(key): code for key, code in dataset.event_id.items()}
    names = sorted(set(labels.tolist()), key=lambda label: (codes.get(label, len(codes)), label))
    subject, session, run = (table[key].to_numpy().astype(str) for key in ("subject", "session", "run"))
    return SignalDataset(
        name=name,
        x=(epochs.get_data(copy=False) * dataset.unit_factor).astype(dtype),
        y=np.array([names.index(label) for label in labels.tolist()], dtype=np.int64),
        class_names=tuple(names),
        metadata={
            "subject": table["subject"].to_numpy().astype(np.int64),
            "session": session,
            "run": run,
            "recording": np.array(["/".join(key) for key in zip(subject, session, run, strict=True)]),
        },
        licence=f"as MOABB's documentation of {type(dataset).__name__} states",
        citation=str(getattr(dataset, "doi", "") or ""),
        sampling_rate=float(epochs.info["sfreq"]),
        channel_names=tuple(epochs.ch_names),
    )


def require_dataset_list() -> list[type]:
    """Return all data set classes that MOABB knows."""
    return list(require("moabb.datasets.utils", extra="eeg", purpose="MOABB data sets").dataset_list)


def _network_errors() -> tuple[type[Exception], ...]:
    """Return what MOABB raises beside requests' errors when a download fails; its own classes differ by version."""
    download = require("moabb.datasets.download", extra="eeg", purpose="MOABB data sets")
    own = (getattr(download, name, None) for name in ("DatasetDownloadError", "NemarDownloadError"))
    return (ConnectionError, TimeoutError, URLError, *(error for error in own if error is not None))


@contextmanager
def download_folder(folder: Path) -> Iterator[None]:
    """Point MOABB at ``folder`` for the time of a call, unless the user has chosen a folder for MNE's data."""
    mne = require("mne", extra="eeg", purpose="MOABB data sets")
    requests = require("requests", extra="data", purpose="downloading")
    chosen = bool(mne.get_config("MNE_DATA"))
    with storage_errors(folder):
        if not chosen:
            folder.mkdir(parents=True, exist_ok=True)
            os.environ["MNE_DATA"] = str(folder)
        try:
            yield
        except (*_network_errors(), requests.exceptions.RequestException) as error:
            raise DownloadError(f"MOABB could not download ({error}); check the network and try again") from error
        finally:
            if not chosen:
                os.environ.pop("MNE_DATA", None)
