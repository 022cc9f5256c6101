"""Networks on SPD matrices and on signals."""

from spdnorm.models.eeg_front_end import EEGFrontEnd
from spdnorm.models.eegspdnet import EEGSPDNet
from spdnorm.models.rresnet import RResNet
from spdnorm.models.spdnet import SPDBlock, SPDNet

__all__ = ["EEGFrontEnd", "EEGSPDNet", "RResNet", "SPDBlock", "SPDNet"]
