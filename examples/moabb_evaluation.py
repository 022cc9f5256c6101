"""MOABB: a within-session evaluation beside pyRiemann's pipelines, on MOABB's generated dataset."""

from __future__ import annotations

import os
import tempfile
import warnings

warnings.filterwarnings("ignore")
folder = tempfile.mkdtemp()
os.environ.setdefault("MNE_DATA", folder)

import mne  # noqa: E402
import moabb  # noqa: E402
from moabb.datasets.fake import FakeDataset  # noqa: E402
from moabb.evaluations import WithinSessionEvaluation  # noqa: E402
from moabb.paradigms import LeftRightImagery  # noqa: E402
from pyriemann.classification import MDM  # noqa: E402
from pyriemann.estimation import Covariances  # noqa: E402
from pyriemann.tangentspace import TangentSpace  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402

from spdnorm.estimators import EEGSPDNetClassifier, SPDNetClassifier  # noqa: E402

mne.set_log_level("ERROR")
moabb.set_log_level("error")
pipelines = {
    "MDM": make_pipeline(Covariances("oas"), MDM()),
    "TS+LR": make_pipeline(Covariances("oas"), TangentSpace(), LogisticRegression()),
    "SPDNet-GBWBN": make_pipeline(Covariances("oas"), SPDNetClassifier((2,), max_epochs=5, random_state=0)),
    "EEGSPDNet-GBWBN": make_pipeline(EEGSPDNetClassifier(max_epochs=5, random_state=0)),
}
evaluation = WithinSessionEvaluation(
    paradigm=LeftRightImagery(),
    datasets=[FakeDataset(["left_hand", "right_hand"], n_subjects=1, n_sessions=1, n_runs=1)],
    overwrite=True,
    hdf5_path=folder,
    n_splits=3,
)
# The generated signals carry no classes: scores about 0.5 show that the pipelines run, no more.
print(evaluation.process(pipelines)[["pipeline", "score"]].to_string(index=False))
