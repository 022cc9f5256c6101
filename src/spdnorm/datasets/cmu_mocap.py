"""CMU motion capture: covariances of 31 joint positions over windows of 4 s, 21 classes by description."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from . import checks
from .cache import dataset_folder
from .cmu_prepare import prepare_cmu_mocap
from .errors import CorruptDataError
from .files import read_npz, require_files
from .registry import DatasetInfo, RemoteFile, register
from .triangles import from_upper_triangle
from .types import MatrixDataset

__all__ = ["load_cmu_mocap"]

LICENCE = "free for any use, with the acknowledgement in the citation"
CITATION = (
    "The data used in this project was obtained from mocap.cs.cmu.edu. "
    "The database was created with funding from NSF EIA-0196217."
)
N_FEATURES = 93


def load_cmu_mocap(root: Path, *, regularization: float = 0.0, dtype: str | np.dtype = "float32") -> MatrixDataset:
    """Load ``cmu_mocap/cov.npz``, or where it is absent ``cov_from_asf.npz``, which :func:`prepare_cmu_mocap` writes.

    Parameters
    ----------
    root : Path
        Data root.
    regularization : float
        lambda of ``X + lambda I``; the matrices as they are have rank at most 63.
    dtype : floating dtype
        The file holds float32.

    Returns
    -------
    MatrixDataset
        ``x`` (3944, 93, 93); metadata ``subject``, ``recording``, ``start_frame`` (at 30 frames a second) and
        ``description``. Split by subject or recording, never by window.
    """
    folder = dataset_folder(root, INFO.folder, title=INFO.title, instructions=INFO.instructions)
    name = (
        "cov_from_asf.npz"
        if not (folder / "cov.npz").exists() and (folder / "cov_from_asf.npz").exists()
        else "cov.npz"
    )
    (path,) = require_files(folder, [name], title=INFO.title, instructions=INFO.instructions)
    keys = (
        "x",
        "y",
        "subject",
        "recording",
        "start_frame_30fps",
        "class_names",
        "descriptions",
        "joint_names",
    )
    content = read_npz(path, keys)
    triangles = content["x"]
    checks.shape(triangles, (None, N_FEATURES * (N_FEATURES + 1) // 2), what=f"{path}: x (upper triangles)")
    checks.finite(triangles, what=f"{path}: x")
    recording = content["recording"]
    if len(recording) and not 0 <= recording.min() <= recording.max() < len(content["descriptions"]):
        raise CorruptDataError(f"{path}: recording numbers do not fit its {len(content['descriptions'])} descriptions")
    x = from_upper_triangle(triangles.astype(dtype, copy=False), n=N_FEATURES)
    if regularization:
        x += regularization * np.eye(N_FEATURES, dtype=x.dtype)
    return MatrixDataset(
        name=INFO.name,
        x=x,
        y=checks.labels_of(content["y"], what=str(path)),
        class_names=tuple(content["class_names"].tolist()),
        metadata={
            "subject": content["subject"],
            "recording": recording,
            "start_frame": content["start_frame_30fps"],
            "description": content["descriptions"][recording],
        },
        licence=LICENCE,
        citation=CITATION,
        feature_names=tuple(f"{joint}.{axis}" for joint in content["joint_names"].tolist() for axis in "xyz"),
        regularization=regularization,
    )


INFO = register(
    DatasetInfo(
        name="cmu-mocap",
        title="CMU motion capture",
        kind="matrices",
        loader=load_cmu_mocap,
        description="3,944 covariances 93x93 of 4 s windows of motion capture, 21 classes, 103 subjects",
        licence=LICENCE,
        citation=CITATION,
        homepage="http://mocap.cs.cmu.edu",
        folder="cmu_mocap",
        files=(
            RemoteFile(
                name="cov.npz",
                sha256="e1399e13294b6df4e715536b643bc44490d6e8a8e37da5ab89dc723baf984f1f",
            ),
        ),
        instructions="Place cov.npz in its folder `cmu_mocap` (no public mirror of that file is known), or make your "
        "own: put the ASF/AMC files of http://mocap.cs.cmu.edu (allasfamc.zip) and an index.csv with the columns "
        "recording,class,description there and run `spdnorm data prepare cmu-mocap`.",
        prepare=prepare_cmu_mocap,
    )
)
