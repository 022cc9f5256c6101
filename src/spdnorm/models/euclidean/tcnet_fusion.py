"""TCNet-Fusion (Musallam et al. 2021)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spdnorm.models.euclidean.blocks import BoundedLinear, CausalBlock, EEGNetFeatures, check_length
from spdnorm.models.euclidean.scaling import scaled
from spdnorm.nn.versioned import VersionedState


class TCNetFusion(VersionedState):
    """EEGNet's features beside their temporal convolutions, fused twice before a linear layer.

    Musallam et al., "Electroencephalography-based motor imagery classification using temporal convolutional network
    fusion", Biomedical Signal Processing and Control 69, 2021. The published lengths are for 250 Hz; they are scaled
    to last as long at ``sfreq``.

    Parameters
    ----------
    n_chans, n_outputs, n_times : int
    sfreq : float
        Sampling rate in Hz.
    filters, depth, dropout : int, int, float
        Of EEGNet: F1 = 24, D = 2, 0.3.
    tcn_filters, tcn_kernel_size, tcn_depth, tcn_dropout : int, int, int, float
        Of the temporal convolutional network: 12, 4, 2, 0.3.

    Shape
    -----
    (N, n_chans, n_times) -> logits (N, n_outputs)

    Examples
    --------
    >>> from spdnorm.models import TCNetFusion
    >>> TCNetFusion(n_chans=8, n_outputs=5, n_times=250)(torch.randn(2, 8, 250)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        *,
        sfreq: float = 125.0,
        filters: int = 24,
        depth: int = 2,
        dropout: float = 0.3,
        tcn_filters: int = 12,
        tcn_kernel_size: int = 4,
        tcn_depth: int = 2,
        tcn_dropout: float = 0.3,
    ) -> None:
        super().__init__()
        pool, width = scaled(8, sfreq, 250), depth * filters
        self.features = EEGNetFeatures(
            n_chans,
            n_times,
            filters=filters,
            kernel_size=scaled(32, sfreq, 250),
            separable_kernel_size=scaled(16, sfreq, 250),
            pool=pool,
            depth=depth,
            dropout=dropout,
        )
        sizes = [width] + [tcn_filters] * tcn_depth
        self.tcn = nn.Sequential(
            *(
                CausalBlock(sizes[i], sizes[i + 1], kernel_size=tcn_kernel_size, dilation=2**i, dropout=tcn_dropout)
                for i in range(tcn_depth)
            )
        )
        left = check_length(n_times, pool)
        self.head = BoundedLinear(left * (2 * width + tcn_filters), n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of signals."""
        early = self.features(x)
        # First fusion: features and their temporal convolutions; second: the features once more.
        fused = torch.cat([early, self.tcn(early)], dim=1)
        return self.head(torch.cat([fused.flatten(1), early.flatten(1)], dim=1))
