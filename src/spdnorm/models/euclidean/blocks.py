"""What TCNet-Fusion and MBEEG-SE are made of: EEGNet's features, temporal convolutions, bounded weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from spdnorm.linalg import check_signals_like


def bounded(weight: Tensor, limit: float) -> Tensor:
    """Rescale each output's weights (outputs, ...) to a norm of at most ``limit``."""
    norm = torch.linalg.vector_norm(weight.flatten(1), dim=1).reshape(-1, *[1] * (weight.dim() - 1))
    return weight * (limit / norm.clamp_min(limit))


class BoundedLinear(nn.Linear):
    """Linear layer whose weight vectors have a norm of at most ``limit``."""

    def __init__(self, in_features: int, out_features: int, *, limit: float = 0.25) -> None:
        super().__init__(in_features, out_features)
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_features) -> (N, out_features)."""
        return F.linear(x, bounded(self.weight, self.limit), self.bias)


class BoundedConv2d(nn.Conv2d):
    """Convolution without bias whose filters have a norm of at most ``limit``."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, int], *, groups: int, limit: float = 1.0
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, groups=groups, bias=False)
        self.limit = limit

    def forward(self, x: Tensor) -> Tensor:
        """(N, in_channels, H, W) -> (N, out_channels, H', W')."""
        return self._conv_forward(x, bounded(self.weight, self.limit), None)


class EEGNetFeatures(nn.Sequential):
    """The convolutional part of EEGNet (Lawhern et al. 2018) with two equal poolings, as EEG-TCNet uses it.

    Parameters
    ----------
    n_chans, n_times : int
    filters : int
        F1; depth times as many leave it.
    kernel_size, separable_kernel_size : int
        Of the temporal and of the separable convolution.
    pool : int
        Samples averaged, twice.
    depth : int
        D, spatial filters for each temporal one.
    dropout : float

    Shape
    -----
    (N, n_chans, n_times) -> (N, depth * filters, n_times // pool // pool)
    """

    def __init__(
        self,
        n_chans: int,
        n_times: int,
        *,
        filters: int,
        kernel_size: int,
        separable_kernel_size: int,
        pool: int,
        depth: int = 2,
        dropout: float = 0.3,
    ) -> None:
        width = depth * filters
        super().__init__(
            nn.Unflatten(1, (1, n_chans)),
            nn.Conv2d(1, filters, (1, kernel_size), padding="same", bias=False),
            nn.BatchNorm2d(filters),
            BoundedConv2d(filters, width, (n_chans, 1), groups=filters),
            nn.BatchNorm2d(width),
            nn.ELU(),
            nn.AvgPool2d((1, pool)),
            nn.Dropout(dropout),
            nn.Conv2d(width, width, (1, separable_kernel_size), padding="same", groups=width, bias=False),
            nn.Conv2d(width, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ELU(),
            nn.AvgPool2d((1, pool)),
            nn.Dropout(dropout),
            nn.Flatten(2),
        )
        self.n_chans, self.n_times = n_chans, n_times

    def forward(self, x: Tensor) -> Tensor:
        """Signals -> features over time."""
        check_signals_like(x, "x", self.n_chans, next(self.parameters()))
        if x.shape[2] != self.n_times:
            raise ValueError(f"`x` must have {self.n_times} times as the network was made for, got {x.shape[2]}")
        return super().forward(x)


class CausalBlock(nn.Module):
    """Two dilated causal convolutions and a skip connection (Bai et al. 2018; Ingolfsson et al. 2020).

    Shape
    -----
    (N, in_features, T) -> (N, filters, T)
    """

    def __init__(self, in_features: int, filters: int, *, kernel_size: int, dilation: int, dropout: float) -> None:
        super().__init__()

        def convolution(inputs: int) -> list[nn.Module]:
            past = (kernel_size - 1) * dilation
            return [
                nn.ConstantPad1d((past, 0), 0.0),
                nn.Conv1d(inputs, filters, kernel_size, dilation=dilation),
                nn.BatchNorm1d(filters),
                nn.ELU(),
                nn.Dropout(dropout),
            ]

        self.path = nn.Sequential(*convolution(in_features), *convolution(filters))
        self.skip = nn.Identity() if in_features == filters else nn.Conv1d(in_features, filters, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features over time -> features over time."""
        return F.elu(self.path(x) + self.skip(x))


def check_length(n_times: int, pool: int) -> int:
    """Samples left after two poolings; an error if there are none."""
    left = n_times // pool // pool
    if left < 1:
        raise ValueError(f"`n_times` must be at least {pool * pool} for two poolings by {pool}, got {n_times}")
    return left
