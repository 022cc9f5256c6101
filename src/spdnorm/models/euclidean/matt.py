"""MAtt (Pan et al. 2022), from spd_learn, with the sizes published for MAMEM-SSVEP-II."""

from __future__ import annotations

from typing import Any

from torch import nn


def matt(
    n_chans: int,
    n_outputs: int,
    n_times: int | None = None,
    *,
    spatial_filters: int = 125,
    out_features: int = 15,
    kernel_size: int = 36,
    attention_features: int = 12,
    segments: int = 7,
    **options: Any,
) -> nn.Module:
    """Manifold attention over the covariances of temporal segments.

    Parameters
    ----------
    n_chans, n_outputs : int
    n_times : int, optional
        Not needed: the covariances take any length.
    spatial_filters, out_features, kernel_size : int
        Of the two convolutions: 125 maps, then 15, kernels n_chans x 1 and 1 x 36.
    attention_features : int
        Size of the matrices in the attention, 12.
    segments : int
        Parts that time is cut into, 7 in the released code.
    **options
        For ``spd_learn.models.MAtt``.

    Returns
    -------
    nn.Module
        (N, n_chans, T) -> logits (N, n_outputs)
    """
    try:
        from spd_learn.models import MAtt
    except ImportError as error:
        raise ImportError("MAtt comes from spd_learn: pip install 'spdnorm[eeg]'") from error
    network = MAtt(
        n_patches=segments,
        n_chans=n_chans,
        n_outputs=n_outputs,
        temporal_out_channels=out_features,
        temporal_kernel_size=kernel_size,
        temporal_padding=kernel_size // 2,
        attention_in_features=out_features,
        attention_out_features=attention_features,
        **options,
    )
    # It has as many spatial filters as channels; the publication has more of them on few channels.
    network.spatial_filter = nn.Conv2d(1, spatial_filters, (n_chans, 1))
    network.spatial_batch_norm = nn.BatchNorm2d(spatial_filters)
    network.temporal_feature_extractor = nn.Conv2d(
        spatial_filters, out_features, (1, kernel_size), padding=(0, kernel_size // 2)
    )
    return network
