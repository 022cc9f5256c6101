"""The paper's EEG network: convolutions, one covariance matrix, SPDNet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from spdnorm.models.eeg_front_end import EEGFrontEnd
from spdnorm.models.norms import NormSpec
from spdnorm.models.spdnet import SPDNet
from spdnorm.nn.covariance import Covariance
from spdnorm.nn.versioned import VersionedState


class EEGSPDNet(VersionedState):
    """Two convolutions (8 x 1 and 1 x 36) to a 15 x 126 map, its 15 x 15 covariance, SPDNet {15, 12}.

    The defaults are the paper's for MAMEM-SSVEP-II; any signal and architecture is taken.

    Parameters
    ----------
    n_chans, n_outputs, n_times : int
        Channels, classes and samples of the signal, as braindecode names them. ``n_times`` is not needed (the
        covariance takes any length) and checked against the kernel where given.
    dims : sequence of int
        SPDNet's architecture; ``dims[0]`` maps leave the front end.
    norm, norm_options
        Normalisation after each BiMap, as in :class:`SPDNet`: ``norm="gbw", norm_options={"theta": 0.5}``.
    spatial_filters, kernel_size : int
        Of :class:`EEGFrontEnd`.
    regularization, epsilon, trace_normalize, segments
        Of :class:`spdnorm.nn.Covariance`. The released code adds 1e-5 I to the sample covariance, the default;
        ``segments`` gives one matrix a segment, sharing the SPDNet's channels.
    spd_dtype : torch.dtype, optional
        Another precision for all that follows the convolutions; the released code has float64 there, float32 before.
    threshold, vectorize, dropout, parametrized
        Of :class:`SPDNet`.

    Shape
    -----
    (N, n_chans, T) or (N, 1, n_chans, T) -> logits (N, n_outputs)

    Examples
    --------
    >>> from spdnorm.models import EEGSPDNet
    >>> model = EEGSPDNet(n_chans=8, n_outputs=5, n_times=125, norm="gbw")
    >>> model(torch.randn(4, 8, 125)).shape
    torch.Size([4, 5])
    """

    def __init__(
        self,
        n_chans: int = 8,
        n_outputs: int = 5,
        n_times: int | None = None,
        *,
        dims: Sequence[int] = (15, 12),
        norm: NormSpec | Sequence[NormSpec] = "none",
        norm_options: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
        spatial_filters: int = 125,
        kernel_size: int = 36,
        regularization: str = "plain",
        epsilon: float = 1e-5,
        trace_normalize: bool = False,
        segments: int | None = None,
        spd_dtype: torch.dtype | None = None,
        threshold: float = 1e-4,
        vectorize: str = "half",
        dropout: float = 0.0,
        parametrized: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if n_times is not None and n_times + 2 * (kernel_size // 2) < kernel_size + 1:
            raise ValueError(f"`n_times` = {n_times} is too short for covariances after a kernel of {kernel_size}")
        self.n_chans, self.n_outputs, self.n_times = n_chans, n_outputs, n_times
        self.front_end = EEGFrontEnd(
            n_chans,
            spatial_filters=spatial_filters,
            out_features=dims[0],
            kernel_size=kernel_size,
            device=device,
            dtype=dtype,
        )
        self.covariance = Covariance(
            regularization=regularization, epsilon=epsilon, trace_normalize=trace_normalize, segments=segments
        )
        self.spdnet = SPDNet(
            dims,
            n_outputs,
            norm=norm,
            norm_options=norm_options,
            channels=segments,
            threshold=threshold,
            vectorize=vectorize,
            dropout=dropout,
            parametrized=parametrized,
            device=device,
            dtype=spd_dtype or dtype,
        )

    def matrices(self, x: Tensor) -> Tensor:
        """The covariance matrices (N, d_0, d_0) that SPDNet sees."""
        return self.covariance(self.front_end(x).to(self.spdnet.head.weight.dtype))

    def features(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """The vectors (N, d) that the linear layer sees."""
        return self.spdnet.features(self.matrices(x), domains)

    def forward(self, x: Tensor, domains: Tensor | None = None) -> Tensor:
        """Logits of signals; ``domains`` (N,) for domain-specific normalisation."""
        return self.spdnet(self.matrices(x), domains)
