"""Networks on SPD matrices and on signals."""

from spdnorm.models.eeg_front_end import EEGFrontEnd
from spdnorm.models.eegspdnet import EEGSPDNet
from spdnorm.models.euclidean import MBEEGSE, TCNetFusion
from spdnorm.models.registry import get, names, register
from spdnorm.models.rresnet import RResNet
from spdnorm.models.spdnet import SPDBlock, SPDNet

__all__ = [
    "MBEEGSE",
    "EEGFrontEnd",
    "EEGSPDNet",
    "RResNet",
    "SPDBlock",
    "SPDNet",
    "TCNetFusion",
    "get",
    "names",
    "register",
]
