"""EEGNet, ShallowConvNet, SCCNet, EEG-TCNet and FBCNet, from braindecode, with lengths scaled to the sampling rate."""

from __future__ import annotations

import warnings
from typing import Any

from torch import nn

from spdnorm.models.euclidean.scaling import scaled


def _braindecode() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its modules warn of their own dependencies on import
            import braindecode.models
    except ImportError as error:
        raise ImportError("this network comes from braindecode: pip install 'spdnorm[eeg]'") from error
    return braindecode.models


def eegnet(n_chans: int, n_outputs: int, n_times: int, *, sfreq: float = 125.0, **options: Any) -> nn.Module:
    """EEGNet (Lawhern et al. 2018): a temporal kernel of half a second; the others are published for 128 Hz."""
    options = {
        "kernel_length": scaled(64, sfreq, 128),
        "depthwise_kernel_length": scaled(16, sfreq, 128),
        "pool1_kernel_size": scaled(4, sfreq, 128),
        "pool2_kernel_size": scaled(8, sfreq, 128),
        **options,
    }
    return _braindecode().EEGNet(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq, **options)


def shallow_conv_net(n_chans: int, n_outputs: int, n_times: int, *, sfreq: float = 125.0, **options: Any) -> nn.Module:
    """ShallowConvNet (Schirrmeister et al. 2017), published for 250 Hz."""
    options = {
        "filter_time_length": scaled(25, sfreq, 250),
        "pool_time_length": scaled(75, sfreq, 250),
        "pool_time_stride": scaled(15, sfreq, 250),
        **options,
    }
    return _braindecode().ShallowFBCSPNet(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq, **options)


def sccnet(n_chans: int, n_outputs: int, n_times: int, *, sfreq: float = 125.0, **options: Any) -> nn.Module:
    """SCCNet (Wei et al. 2019), whose kernels are given in seconds."""
    return _braindecode().SCCNet(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq, **options)


def eeg_tcnet(n_chans: int, n_outputs: int, n_times: int, *, sfreq: float = 125.0, **options: Any) -> nn.Module:
    """EEG-TCNet (Ingolfsson et al. 2020), published for 250 Hz with a kernel of 32 and poolings by 8."""
    options = {"kern_length": scaled(32, sfreq, 250), "drop_prob_eeg": 0.2, "drop_prob_tcn": 0.3, **options}
    network = _braindecode().EEGTCNet(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq, **options)
    # braindecode fixes the poolings; at a lower rate they would leave nothing for the temporal convolutions.
    pool = scaled(8, sfreq, 250)
    network.eegnet_tc.pool1, network.eegnet_tc.pool2 = nn.AvgPool2d((pool, 1)), nn.AvgPool2d((pool, 1))
    return network


def fbcnet(n_chans: int, n_outputs: int, n_times: int, *, sfreq: float = 125.0, **options: Any) -> nn.Module:
    """FBCNet (Mane et al. 2021): nine bands of 4 Hz, the variance of four windows."""
    with warnings.catch_warnings():
        # What it chooses here is what the paper has: nine bands, and a second that is padded to four windows.
        warnings.filterwarnings("ignore", category=UserWarning, module="braindecode")
        return _braindecode().FBCNet(n_chans=n_chans, n_outputs=n_outputs, n_times=n_times, sfreq=sfreq, **options)
