"""Riemannian residual layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from spdnorm.functional.eigenvalues import eigenvalues, with_eigenvalues
from spdnorm.functional.residual import check_metric, residual_step
from spdnorm.linalg import Clamp, check_alike, check_symmetric, full_precision, spectrum
from spdnorm.nn.semi_orthogonal import random_semi_orthogonal, register_semi_orthogonal
from spdnorm.nn.versioned import VersionedState

FRAMES = ("learned", "eigenvectors")


def spectral_network(
    *,
    hidden: int = 3,
    kernel_size: int = 5,
    device: torch.device | str | None = None,
    dtype: torch.dtype | None = None,
) -> nn.Sequential:
    """f: R^n -> R^n on ordered eigenvalues (N, 1, n): three convolutions along them (Katsman et al. 2023)."""

    def convolution(inputs: int, outputs: int) -> nn.Conv1d:
        return nn.Conv1d(inputs, outputs, kernel_size, padding="same", device=device, dtype=dtype)

    def activation() -> tuple[nn.Module, nn.Module]:
        return nn.LeakyReLU(), nn.BatchNorm1d(hidden, device=device, dtype=dtype)

    first, middle, last = convolution(1, hidden), convolution(hidden, hidden), convolution(hidden, 1)
    return nn.Sequential(first, *activation(), middle, *activation(), last)


class RiemannianResidual(VersionedState):
    """X -> Exp_X(V(X)), V(X) = Q diag(f(l)) Q^T, l the eigenvalues of X (Katsman et al. 2023, Sec. 5.2).

    Parameters
    ----------
    num_features : int
        Matrix size n.
    metric : "aim" or "lem"
        Whose exponential is taken.
    frame : "learned" or "eigenvectors"
        Q as an orthogonal parameter, shared by all inputs (the released code of Katsman et al. and of the
        paper), or the eigenvectors of each X. The second is discontinuous where eigenvalues meet.
    normalize : bool
        Give V unit length in the metric before the exponential, as the released code does.
    threshold : float or None
        Raise the eigenvalues to at least this first; it shares the layer's decomposition.
    spectrum_map : nn.Module, optional
        f, from (N, 1, n) to (N, 1, n); by default three convolutions with ``hidden`` channels.
    hidden, kernel_size : int
        Of the default f.
    parametrized : bool
        As in :class:`spdnorm.nn.BiMap`, for Q.

    Shape
    -----
    (..., n, n) -> (..., n, n)

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import RiemannianResidual
    >>> RiemannianResidual(4, dtype=torch.float64)(random_spd(4, 10)).shape
    torch.Size([10, 4, 4])
    """

    frame: Tensor

    def __init__(
        self,
        num_features: int,
        *,
        metric: str = "aim",
        frame: str = "learned",
        normalize: bool = True,
        threshold: float | None = 1e-6,
        spectrum_map: nn.Module | None = None,
        hidden: int = 3,
        kernel_size: int = 5,
        parametrized: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_metric(metric)
        if frame not in FRAMES:
            raise ValueError(f"`frame` must be one of {', '.join(FRAMES)}, got {frame!r}")
        self.num_features, self.metric, self.normalize, self.threshold = num_features, metric, normalize, threshold
        self.learned = frame == "learned"
        if spectrum_map is None:
            spectrum_map = spectral_network(hidden=hidden, kernel_size=kernel_size, device=device, dtype=dtype)
        self.spectrum_map = spectrum_map
        if self.learned:
            value = random_semi_orthogonal(num_features, num_features, device=device, dtype=dtype)
            register_semi_orthogonal(self, "frame", value, parametrized=parametrized)

    @full_precision
    def forward(self, x: Tensor) -> Tensor:
        """SPD (..., n, n) -> SPD (..., n, n)."""
        check_symmetric(x, "x")
        if x.shape[-1] != self.num_features:
            n = self.num_features
            raise ValueError(f"`x` must have shape (..., {n}, {n}), got {tuple(x.shape)}")
        if self.learned:
            check_alike(x=x, frame=self.frame)
        weight = next(self.spectrum_map.parameters(), x)
        if (weight.dtype, weight.device) != (x.dtype, x.device):
            raise TypeError(
                f"`x` is {x.dtype} on {x.device} and the layer {weight.dtype} on {weight.device}: call .to(...) on one"
            )
        s = spectrum(x)
        if self.threshold is not None:
            s = s.map(Clamp(self.threshold))
        values = eigenvalues(s)
        field = self.spectrum_map(values.reshape(-1, 1, self.num_features)).reshape(values.shape)
        if self.learned:
            q = self.frame
            v = (q * field.unsqueeze(-2)) @ q.mT
        else:
            v = with_eigenvalues(s, field)
        return residual_step(s, v, metric=self.metric, normalize=self.normalize)

    def extra_repr(self) -> str:
        """Size, metric, frame."""
        frame = "learned" if self.learned else "eigenvectors"
        return f"{self.num_features}, metric={self.metric!r}, frame={frame!r}, normalize={self.normalize}"
