"""CMU motion capture from its ASF/AMC files: windows of joint positions to covariances."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .archive import unpacked_files
from .asf_amc import read_amc, read_asf
from .cache import atomic_file
from .covariances import covariance
from .errors import CorruptDataError, MissingDataError
from .extras import require
from .files import files_below
from .kinematics import joint_positions
from .triangles import to_upper_triangle

__all__ = ["prepare_cmu_mocap", "windows"]

#: Frames a second of most recordings; a few have 60, which their files do not say. Windows are taken at 30.
SOURCE_RATE = 120
WINDOW_RATE = 30
WINDOW_SECONDS = 4
N_JOINTS = 31

_NAME = re.compile(r"(\d+)_(\d+)", re.ASCII)
_COLUMNS = ("recording", "class", "description")


def prepare_cmu_mocap(root: Path, *, progress: bool = True) -> Path:
    """Write ``cmu_mocap/cov_from_asf.npz`` from the ASF/AMC files (or their archive) in ``cmu_mocap``.

    ``cmu_mocap/index.csv`` says which recordings to take: a header ``recording,class,description`` and a line such as
    ``02_01,walk,walk`` for each; a fourth column ``rate`` may name frames a second other than 120. Recording ``02_01``
    is the file ``02_01.amc`` with the skeleton ``02.asf``, wherever below the folder. One recording is held at a time.
    """
    folder = root / "cmu_mocap"
    index = folder / "index.csv"
    if not index.is_file():
        raise MissingDataError(f"{index} is not there: a CSV with the columns {', '.join(_COLUMNS)} says what to take")
    rows = list(_read_index(index))
    files = {path.name.lower(): path for path in (*unpacked_files(folder, ".amc"), *files_below(folder, ".asf"))}
    class_names = sorted({row["class"] for row in rows})
    triangles: list[np.ndarray] = []
    y: list[int] = []
    subject: list[int] = []
    recording: list[int] = []
    start: list[int] = []
    joint_names: tuple[str, ...] = ()
    tqdm = require("tqdm", extra="data", purpose="the progress bar")
    for number, row in enumerate(tqdm.tqdm(rows, unit="file", disable=None if progress else True)):
        name = row["recording"]
        person = name.partition("_")[0]
        missing = [file for file in (f"{person}.asf", f"{name}.amc") if file.lower() not in files]
        if missing:
            raise MissingDataError(f"{index} names {name}, and {' and '.join(missing)} is not below {folder}")
        skeleton = read_asf(files[f"{person}.asf".lower()])
        joint_names = skeleton.joint_names
        positions = joint_positions(skeleton, read_amc(files[f"{name}.amc".lower()], skeleton))
        if positions.shape[1] != N_JOINTS:
            raise CorruptDataError(
                f"{files[f'{person}.asf'.lower()]} has {positions.shape[1]} joints, expected {N_JOINTS}"
            )
        cut = windows(positions.reshape(len(positions), -1)[:: int(row["rate"]) // WINDOW_RATE])
        triangles.append(to_upper_triangle(covariance(cut)))
        y.extend([class_names.index(row["class"])] * len(cut))
        subject.extend([int(person)] * len(cut))
        recording.extend([number] * len(cut))
        start.extend(range(0, len(cut) * cut.shape[-1], cut.shape[-1]))
    target = folder / "cov_from_asf.npz"
    with atomic_file(target) as stream:
        np.savez_compressed(
            stream,
            x=np.concatenate(triangles).astype(np.float32),
            y=np.array(y, dtype=np.int64),
            subject=np.array(subject, dtype=np.int64),
            recording=np.array(recording, dtype=np.int64),
            start_frame_30fps=np.array(start, dtype=np.int64),
            class_names=np.array(class_names),
            descriptions=np.array([row["description"] for row in rows]),
            joint_names=np.array(joint_names),
        )
    return target


def windows(frames: np.ndarray, *, length: int = WINDOW_RATE * WINDOW_SECONDS) -> np.ndarray:
    """Cut frames (T, channels) into consecutive windows (N, channels, length); what is left over is dropped."""
    count = len(frames) // length
    return frames[: count * length].reshape(count, length, frames.shape[1]).swapaxes(1, 2)


def _read_index(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) not in (_COLUMNS, (*_COLUMNS, "rate")):
            raise CorruptDataError(f"{path}: the first line must be {','.join(_COLUMNS)}, or that and rate")
        for row in reader:
            if not _NAME.fullmatch(row["recording"] or "") or not row["class"]:
                raise CorruptDataError(
                    f"{path}, line {reader.line_num}: expected a recording such as 02_01 and a class"
                )
            rate = row.get("rate") or str(SOURCE_RATE)
            if not rate.isdigit() or int(rate) == 0 or int(rate) % WINDOW_RATE:
                raise CorruptDataError(f"{path}, line {reader.line_num}: rate {rate!r} is no multiple of {WINDOW_RATE}")
            yield {**row, "description": row["description"] or row["class"], "rate": rate}
