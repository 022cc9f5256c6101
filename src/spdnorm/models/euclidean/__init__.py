"""The Euclidean EEG networks of the paper's comparison."""

from spdnorm.models.euclidean.braindecode_models import eeg_tcnet, eegnet, fbcnet, sccnet, shallow_conv_net
from spdnorm.models.euclidean.matt import matt
from spdnorm.models.euclidean.mbeeg_se import MBEEGSE
from spdnorm.models.euclidean.tcnet_fusion import TCNetFusion

__all__ = ["MBEEGSE", "TCNetFusion", "eeg_tcnet", "eegnet", "fbcnet", "matt", "sccnet", "shallow_conv_net"]
