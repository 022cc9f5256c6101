"""The convolutional front end of the paper's EEG networks: signals in, feature maps over time out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spdnorm.linalg import check_signals_like, check_tensor
from spdnorm.nn.versioned import VersionedState
from spdnorm.stats import update_average


class EEGFrontEnd(VersionedState):
    """A spatial and a temporal convolution, each with batch normalisation (Pan et al. 2022, Sec. 3.1).

    The paper gives the kernels (8 x 1, then 1 x 36) and the resulting 15 x 126 map; the number of maps between the
    two convolutions, 125, and the padding are those of the released code of MAtt and of the paper.

    Parameters
    ----------
    n_chans : int
        Channels of the signal, which is the height of the spatial kernel.
    spatial_filters : int
        Maps between the convolutions.
    out_features : int
        Maps after them.
    kernel_size : int
        Length of the temporal kernel; the padding is half of it, so that T becomes T + 1 for even lengths.
    fold : bool
        Up to the second convolution everything is linear but for the batch statistics, which follow from the
        channels' means and covariance: folded into one convolution of ``n_chans`` maps instead of
        ``spatial_filters``, the result is the same up to rounding, several times faster.

    Shape
    -----
    (N, n_chans, T) or (N, 1, n_chans, T) -> (N, out_features, T')

    Examples
    --------
    >>> from spdnorm.models import EEGFrontEnd
    >>> EEGFrontEnd(8)(torch.randn(4, 8, 125)).shape
    torch.Size([4, 15, 126])
    """

    def __init__(
        self,
        n_chans: int,
        *,
        spatial_filters: int = 125,
        out_features: int = 15,
        kernel_size: int = 36,
        fold: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.n_chans, self.fold = n_chans, fold
        self.spatial = nn.Conv2d(1, spatial_filters, (n_chans, 1), device=device, dtype=dtype)
        self.spatial_norm = nn.BatchNorm2d(spatial_filters, device=device, dtype=dtype)
        self.temporal = nn.Conv2d(
            spatial_filters, out_features, (1, kernel_size), padding=(0, kernel_size // 2), device=device, dtype=dtype
        )
        self.temporal_norm = nn.BatchNorm2d(out_features, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Signals -> feature maps."""
        check_tensor(x, "x")
        x = x.squeeze(1) if x.dim() == 4 and x.shape[1] == 1 else x
        check_signals_like(x, "x", self.n_chans, self.spatial.weight)
        x = x.unsqueeze(1)
        # A replaced norm (synchronised, for one) has statistics of its own, an empty batch none: then layer by layer.
        if self.fold and type(self.spatial_norm) is nn.BatchNorm2d and x.shape[0] > 0:
            maps = self._folded(x.squeeze(1))
        else:
            maps = self.temporal(self.spatial_norm(self.spatial(x)))
        return self.temporal_norm(maps).squeeze(-2)

    def _folded(self, x: Tensor) -> Tensor:
        weight, kernel, norm = self.spatial.weight.flatten(1), self.temporal.weight.squeeze(2), self.spatial_norm
        offset, temporal_bias = self.spatial.bias, self.temporal.bias
        assert offset is not None
        assert temporal_bias is not None
        if norm.training:
            mean, variance = self._batch_statistics(x, weight, offset)
        else:
            assert norm.running_mean is not None
            assert norm.running_var is not None
            mean, variance = norm.running_mean, norm.running_var
        gain = norm.weight * torch.rsqrt(variance + norm.eps)
        # Padding follows the batch norm, whose constant therefore stops at the borders: a channel of ones carries it.
        constant = norm.bias + gain * (offset - mean)
        mixing = torch.cat([gain.unsqueeze(-1) * weight, constant.unsqueeze(-1)], dim=-1)
        folded = torch.einsum("omk,mc->ock", kernel, mixing)
        padded = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
        return F.conv1d(padded, folded, temporal_bias, padding=self.temporal.padding[1]).unsqueeze(-2)

    def _batch_statistics(self, x: Tensor, weight: Tensor, offset: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of each spatial map, and the running ones updated as BatchNorm2d does."""
        norm = self.spatial_norm
        count = x.shape[0] * x.shape[2]
        channel_mean = x.mean((0, 2))
        centred = (x - channel_mean.unsqueeze(-1)).transpose(0, 1).flatten(1)
        mean = weight @ channel_mean + offset
        variance = ((weight @ (centred @ centred.mT / count)) * weight).sum(-1)
        with torch.no_grad():
            assert norm.running_mean is not None
            assert norm.running_var is not None
            assert norm.num_batches_tracked is not None
            norm.num_batches_tracked.add_(1)
            rate = norm.momentum if norm.momentum is not None else 1.0 / float(norm.num_batches_tracked)
            update_average(norm.running_mean, mean, rate)
            update_average(norm.running_var, variance * (count / max(count - 1, 1)), rate)
        return mean, variance
