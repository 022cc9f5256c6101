"""MBEEG-SE: three EEGNets of different widths with channel attention (Altuwaijri et al. 2022)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from spdnorm.models.euclidean.blocks import BoundedLinear, EEGNetFeatures, check_length
from spdnorm.models.euclidean.scaling import scaled
from spdnorm.nn.versioned import VersionedState


class Branch(NamedTuple):
    """One branch: F1, the temporal kernel at 250 Hz, dropout, reduction of the attention."""

    filters: int
    kernel_size: int
    dropout: float
    reduction: int


#: The three branches of the publication.
BRANCHES = (Branch(4, 16, 0.0, 4), Branch(8, 32, 0.1, 4), Branch(16, 64, 0.2, 2))


class SqueezeExcitation(nn.Module):
    """Weigh each feature map by a function of all the maps' means (Hu et al. 2018).

    Shape
    -----
    (N, features, T) -> (N, features, T)
    """

    def __init__(self, features: int, *, reduction: int) -> None:
        super().__init__()
        hidden = max(1, features // reduction)
        self.excite = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, features), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        """Features over time -> weighted features over time."""
        return x * self.excite(x.mean(-1)).unsqueeze(-1)


class MBEEGSE(VersionedState):
    """Multi-branch EEGNet with squeeze-and-excitation blocks.

    Altuwaijri et al., "A Multi-Branch Convolutional Neural Network with Squeeze-and-Excitation Attention Blocks for
    EEG-Based Motor Imagery Signals Classification", Diagnostics 12(4), 995, 2022. The published lengths are for
    250 Hz; they are scaled to last as long at ``sfreq``.

    Parameters
    ----------
    n_chans, n_outputs, n_times : int
    sfreq : float
        Sampling rate in Hz.
    depth : int
        D of each EEGNet.
    branches : tuple of Branch
        F1, kernel, dropout and reduction of each.

    Shape
    -----
    (N, n_chans, n_times) -> logits (N, n_outputs)

    Examples
    --------
    >>> from spdnorm.models import MBEEGSE
    >>> MBEEGSE(n_chans=8, n_outputs=5, n_times=250)(torch.randn(2, 8, 250)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        n_chans: int,
        n_outputs: int,
        n_times: int,
        *,
        sfreq: float = 125.0,
        depth: int = 2,
        branches: tuple[Branch, ...] = BRANCHES,
    ) -> None:
        super().__init__()
        pool = scaled(8, sfreq, 250)
        self.branches = nn.ModuleList(
            nn.Sequential(
                EEGNetFeatures(
                    n_chans,
                    n_times,
                    filters=branch.filters,
                    kernel_size=scaled(branch.kernel_size, sfreq, 250),
                    separable_kernel_size=scaled(16, sfreq, 250),
                    pool=pool,
                    depth=depth,
                    dropout=branch.dropout,
                ),
                SqueezeExcitation(depth * branch.filters, reduction=branch.reduction),
                nn.Flatten(),
            )
            for branch in branches
        )
        width = depth * sum(branch.filters for branch in branches)
        self.head = BoundedLinear(check_length(n_times, pool) * width, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of signals."""
        return self.head(torch.cat([branch(x) for branch in self.branches], dim=1))
