"""State and PyTorch's BatchNorm semantics, shared by all normalisation layers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import geoopt
import torch
import torch.distributed as dist
from torch import Tensor, nn

from spdnorm.functional.batch_norm import Options, Statistics, batch_statistics
from spdnorm.functional.kernels import NormKernel
from spdnorm.functional.layout import to_batch
from spdnorm.geometry import Average, plain_average
from spdnorm.linalg import check_tensor, clampm, full_precision
from spdnorm.nn.constraints import assign, register_spd, unconstrained
from spdnorm.nn.versioned import VersionedState
from spdnorm.stats import SynchronizedAverage, is_empty, write


class RiemannianBatchNorm(VersionedState, ABC):
    """Base of the normalisation layers for SPD matrices (N, n, n) or (N, C, n, n).

    Parameters
    ----------
    num_features : int
        Matrix size n.
    momentum : float or None
        Weight of a batch in the running statistics; ``None`` averages all batches cumulatively.
    eps : float
        Added to the variance. With 0, a batch without spread (one sample) has its rounding errors scaled up, where
        there are any.
    affine : bool
        Learn ``bias`` (SPD) and ``scale``.
    track_running_stats : bool
        Without, evaluation uses the batch's own statistics.
    channels : int, optional
        Statistics and parameters per channel of (N, C, n, n); by default they are shared by all leading axes.
    mean_iterations : int or None
        Steps towards the barycentre in training; ``None`` goes on to convergence.
    stats_grad : bool
        Let gradients flow through the batch's statistics. Measured on MAMEM-SSVEP-II (GBWBN, 6 subjects x 3 seeds, 60
        epochs, accuracy on the validation session 4, mean of the last 10 epochs): 65.5 % with, 61.6 % without,
        paired difference 4.0 +- 1.4 (standard error) points. Hence the default.
    floor : float, optional
        Raise the input's eigenvalues to this number first, for metrics that singular matrices break.
    parametrized : bool
        SPD parameters as exp of a symmetric matrix, for any optimiser; otherwise geoopt manifold parameters.
    manifold : geoopt.Manifold, optional
        Manifold of those.
    device, dtype
        As everywhere in torch.

    Notes
    -----
    ``running_mean`` and ``running_var`` start at I and 1 and are updated in place. An empty batch comes back as it
    is; a single sample has variance 0 and comes back as the bias.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import BWBatchNorm
    >>> layer = BWBatchNorm(4, affine=False, mean_iterations=None, dtype=torch.float64)
    >>> x = random_spd(4, 200, condition=2.0)
    >>> layer.refit(x)  # exact statistics of all of x in place of running ones
    >>> torch.allclose(layer.eval().exact_statistics(layer(x)).mean, torch.eye(4).double(), atol=1e-6)
    True
    """

    #: Whether the method has a variance to divide by (and to track).
    controls_variance = True
    #: Whether there is a scale parameter.
    has_scale = True
    #: Whether statistics are taken over all processes, and over which: see ``convert_sync_batchnorm``.
    synchronized = False
    process_group: Any = None

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None
    bias: Tensor | None
    scale: Tensor | None

    def __init__(
        self,
        num_features: int,
        *,
        momentum: float | None = 0.1,
        eps: float = 1e-5,
        affine: bool = True,
        track_running_stats: bool = True,
        channels: int | None = None,
        mean_iterations: int | None = 1,
        stats_grad: bool = True,
        floor: float | None = None,
        parametrized: bool = True,
        manifold: geoopt.Manifold | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if num_features < 1:
            raise ValueError(f"`num_features` must be 1 or more, got {num_features}")
        if momentum is not None and not 0 <= momentum <= 1:
            raise ValueError(f"`momentum` must lie in [0, 1] or be None, got {momentum}")
        Options(mean_iterations=mean_iterations, eps=eps)
        self.num_features = num_features
        self.momentum = momentum
        self.eps = eps
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.channels = channels
        self.mean_iterations = mean_iterations
        self.stats_grad = stats_grad
        self.floor = floor
        self.parametrized = parametrized
        self._manifold = manifold
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        if affine:
            self._register_spd("bias", factory)
            if self.has_scale:
                self.scale = nn.Parameter(torch.ones(self._lead, **factory))
        else:
            self.register_parameter("bias", None)
        if not (affine and self.has_scale):
            self.register_parameter("scale", None)
        self._register_statistics(factory)

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def _lead(self) -> tuple[int, ...]:
        return () if self.channels is None else (self.channels,)

    def _identity(self, factory: dict[str, Any]) -> Tensor:
        return torch.eye(self.num_features, **factory).repeat(*self._lead, 1, 1)

    def _register_spd(self, name: str, factory: dict[str, Any]) -> None:
        register_spd(self, name, self._identity(factory), parametrized=self.parametrized, manifold=self._manifold)

    def _register_statistics(self, factory: dict[str, Any]) -> None:
        tracked = self.track_running_stats
        self.register_buffer("running_mean", self._identity(factory) if tracked else None)
        variance = torch.ones(self._lead, **factory) if tracked and self.controls_variance else None
        self.register_buffer("running_var", variance)
        count = torch.zeros((), dtype=torch.long, device=factory["device"]) if tracked else None
        self.register_buffer("num_batches_tracked", count)

    def _mean_buffers(self) -> list[Tensor]:
        return [b for b in (self.running_mean,) if b is not None]

    def _var_buffers(self) -> list[Tensor]:
        return [b for b in (self.running_var,) if b is not None]

    @torch.no_grad()
    def reset_running_stats(self) -> None:
        """Back to identity mean, unit variance and no batches seen."""
        for buffer in self._mean_buffers():
            buffer.copy_(torch.eye(self.num_features, dtype=buffer.dtype, device=buffer.device))
        for buffer in self._var_buffers():
            buffer.fill_(1)
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.zero_()

    def _spd_parameters(self) -> list[str]:
        return ["bias"] if self.affine else []

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Reset statistics, and parameters to identity bias and unit scale."""
        self.reset_running_stats()
        for name in self._spd_parameters():
            # Not through the constraint: after ``to_empty`` the numbers are none that a matrix function could take.
            like = unconstrained(self, name)
            assign(self, name, torch.eye(self.num_features, dtype=like.dtype, device=like.device).expand_as(like))
        if self.scale is not None:
            self.scale.fill_(1)

    # -- normalisation ---------------------------------------------------------------------------------------

    @abstractmethod
    def kernel(self) -> NormKernel[Any]:
        """The normalisation kernel with the current parameters."""

    @abstractmethod
    def _normalize(
        self,
        x: Tensor,
        mean: Tensor | None,
        var: Tensor | None,
        *,
        training: bool,
        momentum: float | Tensor,
        average: Average,
    ) -> Tensor:
        """Call the method's function with the layer's parameters and these running statistics."""

    def _next_momentum(self) -> float | Tensor:
        """What the coming batch weighs in the running statistics."""
        if self.momentum is not None:
            return self.momentum
        if self.num_batches_tracked is None or self.running_mean is None:
            return 0.0
        return 1.0 / (self.num_batches_tracked + 1).to(self.running_mean.dtype)

    def _check_input(self, x: Tensor) -> None:
        check_tensor(x, "x")
        if x.dim() < 3 or x.shape[-1] != self.num_features or x.shape[-2] != self.num_features:
            n = self.num_features
            raise ValueError(f"`x` must have shape (N, {n}, {n}) or (N, C, {n}, {n}), got {tuple(x.shape)}")

    @property
    def shared_with_others(self) -> bool:
        """Whether statistics are taken over several processes at the moment."""
        return self.synchronized and dist.is_available() and dist.is_initialized()

    def _average(self, x: Tensor) -> Average:
        """How the samples of ``x`` are averaged: here, or over all processes."""
        if not self.shared_with_others:
            return plain_average
        samples = x.shape[:-2].numel() // (self.channels or 1)
        return SynchronizedAverage(samples, device=x.device, group=self.process_group)

    def forward(self, x: Tensor) -> Tensor:
        """Normalise ``x`` (N, n, n) or (N, C, n, n); in training, update the running statistics."""
        self._check_input(x)
        average = self._average(x) if self.training else plain_average
        out = self._normalize(
            x,
            self.running_mean,
            self.running_var,
            training=self.training,
            momentum=self._next_momentum(),
            average=average,
        )
        # Counted last, so that a batch that was refused leaves no trace.
        if self.training and self.num_batches_tracked is not None and not is_empty(x, average):
            self.num_batches_tracked.add_(1)
        return out

    # -- exact statistics ------------------------------------------------------------------------------------

    @torch.no_grad()
    @full_precision
    def exact_statistics(self, x: Tensor) -> Statistics:
        """Converged barycentre, as a running mean holds it, and variance of all of ``x``."""
        self._check_input(x)
        batch = to_batch(x, self.channels)
        average = self._average(x)
        if is_empty(batch, average):
            raise ValueError("`x` is empty: statistics need at least one matrix")
        if self.floor is not None:
            batch = clampm(batch, self.floor)
        options = Options(control_variance=self.controls_variance, mean_iterations=None, eps=self.eps, average=average)
        return self._exact(batch, options)

    def _exact(self, batch: Tensor, options: Options) -> Statistics:
        kernel = self.kernel()
        statistics, _ = batch_statistics(kernel.enter(batch), kernel, options)
        return Statistics(kernel.store(statistics.mean), statistics.variance)

    @torch.no_grad()
    def refit(self, x: Tensor) -> None:
        """Replace the running statistics by the exact ones of ``x`` (all of the data, in one tensor)."""
        if self.running_mean is None:
            raise ValueError("this layer tracks no running statistics: create it with track_running_stats=True")
        statistics = self.exact_statistics(x)
        for buffer in self._mean_buffers():
            write(buffer, statistics.mean)
        for buffer in self._var_buffers():
            write(buffer, statistics.variance)

    def extra_repr(self) -> str:
        """Arguments that differ between layers."""
        parts = [f"{self.num_features}", f"momentum={self.momentum}", f"eps={self.eps:g}", f"affine={self.affine}"]
        if not self.track_running_stats:
            parts.append("track_running_stats=False")
        if self.channels is not None:
            parts.append(f"channels={self.channels}")
        if self.mean_iterations != 1:
            parts.append(f"mean_iterations={self.mean_iterations}")
        return ", ".join(parts)

    def _common(self) -> dict[str, Any]:
        """Arguments that all the functions share."""
        return {
            "bias": self.bias,
            "mean_iterations": self.mean_iterations,
            "channels": self.channels,
            "stats_grad": self.stats_grad,
            "floor": self.floor,
        }
