"""GBWBN and BWBN as layers (paper, Alg. 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from spdnorm.functional import Options, Statistics, riemannian_batch_norm
from spdnorm.functional.gbw import gbw_kernel
from spdnorm.functional.kernels import NormKernel
from spdnorm.functional.layout import to_batch
from spdnorm.functional.reference import reference_gbw_batch_norm, reference_statistics
from spdnorm.geometry import Average
from spdnorm.linalg import clampm, congruence, eye_like, full_precision, powm, sqrt_and_inverse, sqrtm
from spdnorm.nn.constraints import assign, register_nonzero, spd_roots, spd_roots_and_value, unconstrained
from spdnorm.nn.norm.base import RiemannianBatchNorm

#: Bound on the steps of ``start_metric``.
_METRIC_STEPS = 60


def _theta_by_its_logarithm(state: dict[str, Any], prefix: str) -> None:
    """Layout 1 held a learned theta itself."""
    if (theta := state.pop(f"{prefix}theta", None)) is not None:
        state[f"{prefix}parametrizations.theta.original"] = theta.abs().log()
        state[f"{prefix}parametrizations.theta.0.sign"] = torch.where(theta < 0, -torch.ones_like(theta), 1.0)


class GBWBatchNorm(RiemannianBatchNorm):
    """Batch normalisation under the learnable, power-deformed generalised Bures-Wasserstein metric.

    Parameters
    ----------
    num_features : int
        Matrix size n.
    theta : float
        Power of the deformation, not 0; 1 is the plain metric, towards 0 it becomes log-Euclidean.
    learn_metric : bool
        Learn the metric parameter M; without it M = I (BWBN).
    learn_theta : bool
        Learn theta = +-exp(r), from the given start; its sign cannot change, 0 is out of reach.
    variant : "paper" or "reference"
        The paper's equations, or its released script (:mod:`spdnorm.functional.reference`).
    bias_target : "deformed" or "raw"
        In the reference variant, where the last transport goes ("raw": the script of RResNet).
    power_gradient : "exact" or "script"
        In the reference variant, how X^theta is differentiated.
    **options
        Those of :class:`RiemannianBatchNorm`.

    Examples
    --------
    >>> import torch
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import GBWBatchNorm
    >>> layer = GBWBatchNorm(4, theta=0.5, dtype=torch.float64)
    >>> layer(random_spd(4, 10)).shape
    torch.Size([10, 4, 4])
    """

    _version = 2
    migrations: ClassVar[Mapping[int, Callable[[dict[str, Any], str], None]]] = {1: _theta_by_its_logarithm}

    metric: Tensor | None

    def __init__(
        self,
        num_features: int,
        *,
        theta: float = 1.0,
        learn_metric: bool = True,
        learn_theta: bool = False,
        variant: Literal["paper", "reference"] = "paper",
        bias_target: Literal["deformed", "raw"] = "deformed",
        power_gradient: Literal["exact", "script"] = "exact",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> None:
        if theta == 0:
            raise ValueError("`theta` must not be 0: the limit theta -> 0 is LieBatchNorm(metric='lem')")
        if variant not in ("paper", "reference"):
            raise ValueError(f"`variant` must be 'paper' or 'reference', got {variant!r}")
        if bias_target not in ("deformed", "raw") or (bias_target == "raw" and variant == "paper"):
            raise ValueError(
                f"`bias_target` must be 'deformed', or 'raw' with variant='reference', got {bias_target!r}"
            )
        if power_gradient not in ("exact", "script") or (power_gradient == "script" and variant == "paper"):
            raise ValueError(
                f"`power_gradient` must be 'exact', or 'script' with variant='reference', got {power_gradient!r}"
            )
        if learn_theta and variant == "reference":
            raise ValueError("`learn_theta` goes with variant='paper' only")
        super().__init__(num_features, device=device, dtype=dtype, **options)
        self._initial_theta = float(theta)
        self.theta: float | Tensor
        if learn_theta:
            register_nonzero(self, "theta", torch.tensor(float(theta), device=device, dtype=dtype))
        else:
            self.theta = float(theta)
        self.variant = variant
        self.bias_target = bias_target
        self.power_gradient = power_gradient
        self.learn_metric = learn_metric
        if learn_metric:
            self._register_spd("metric", {"device": device, "dtype": dtype})
        else:
            self.register_parameter("metric", None)

    def _spd_parameters(self) -> list[str]:
        return super()._spd_parameters() + (["metric"] if self.learn_metric else [])

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Reset statistics and parameters, a learned theta to its start."""
        super().reset_parameters()
        if isinstance(self.theta, Tensor):
            like = unconstrained(self, "theta")
            assign(self, "theta", torch.full_like(like, self._initial_theta))

    @torch.no_grad()
    @full_precision
    def start_metric(self, x: Tensor) -> None:
        """Put the metric parameter M at the data's barycentre under the metric that M itself defines.

        M^-1/2 X^theta M^-1/2, where statistics are taken, then has the identity as its barycentre, whatever the data's
        scale and directions: M is the mean of the geometric means of M and X_i^theta, the power mean of order 1/2 of
        the X_i^theta (Lim and Palfia 2012).

        Parameters
        ----------
        x : Tensor, shape (N, n, n) or (N, C, n, n)
            Data as the layer will see it, positive definite on the whole.

        Examples
        --------
        >>> import torch
        >>> from spdnorm.geometry import random_spd
        >>> from spdnorm.nn import GBWBatchNorm
        >>> layer, x = GBWBatchNorm(4, dtype=torch.float64), random_spd(4, 10)
        >>> layer.start_metric(x)
        >>> torch.allclose(layer.exact_statistics(x).mean, torch.eye(4).double(), atol=1e-6)
        True
        """
        if not self.learn_metric:
            raise ValueError("this layer has no metric parameter: create it with learn_metric=True")
        self._check_input(x)
        batch = to_batch(x, self.channels)
        if batch.shape[0] == 0:
            raise ValueError("`x` is empty: a barycentre needs at least one matrix")
        if self.floor is not None:
            batch = clampm(batch, self.floor)
        powers = powm(batch, float(self.theta))
        metric = powers.mean(0)
        # Each step at least halves Thompson's distance from the fixed point.
        for _ in range(_METRIC_STEPS):
            root, inverse = sqrt_and_inverse(metric)
            mean = sqrtm(congruence(inverse, powers)).mean(0)
            metric = congruence(root, mean)
            if (mean - eye_like(mean)).abs().amax() < torch.finfo(mean.dtype).eps ** 0.75:
                break
        assign(self, "metric", metric)

    def kernel(self) -> NormKernel[Any]:
        """The kernel under the current metric."""
        roots = spd_roots(self, "metric") if self.learn_metric else None
        return gbw_kernel(None, self.theta, roots=roots)

    def _kernel_and_bias(self) -> tuple[NormKernel[Any], Tensor | None]:
        if not (self.learn_metric and self.affine):
            return self.kernel(), self.bias
        roots, bias = spd_roots_and_value(self, "metric", "bias")
        return gbw_kernel(None, self.theta, roots=roots), bias

    def _exact(self, batch: Tensor, options: Options) -> Statistics:
        if self.variant == "reference":
            assert isinstance(self.theta, float)
            return reference_statistics(batch, self.metric, self.theta, options)
        return super()._exact(batch, options)

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
        shared: dict[str, Any] = {
            "scale": self.scale,
            "training": training,
            "momentum": momentum,
            "channels": self.channels,
        }
        if self.variant == "reference":
            assert isinstance(self.theta, float)
            return reference_gbw_batch_norm(
                x,
                mean,
                var,
                metric=self.metric,
                bias=self.bias,
                theta=self.theta,
                eps=self.eps,
                mean_iterations=self.mean_iterations,
                bias_target=self.bias_target,
                power_gradient=self.power_gradient,
                floor=self.floor,
                average=average,
                **shared,
            )
        options = Options(
            stats_grad=self.stats_grad,
            mean_iterations=self.mean_iterations,
            eps=self.eps,
            floor=self.floor,
            average=average,
        )
        kernel, bias = self._kernel_and_bias()
        return riemannian_batch_norm(x, kernel, mean, var, bias=bias, options=options, **shared)

    def extra_repr(self) -> str:
        """Arguments that differ between layers."""
        theta = self.theta if isinstance(self.theta, float) else self.theta.item()
        parts = [super().extra_repr(), f"theta={theta:g}"]
        if not self.learn_metric:
            parts.append("learn_metric=False")
        if self.variant != "paper":
            parts.append(f"variant={self.variant!r}")
        if self.bias_target != "deformed":
            parts.append(f"bias_target={self.bias_target!r}")
        if self.power_gradient != "exact":
            parts.append(f"power_gradient={self.power_gradient!r}")
        return ", ".join(parts)


class BWBatchNorm(GBWBatchNorm):
    """Batch normalisation under the (power-deformed) Bures-Wasserstein metric: :class:`GBWBatchNorm` with M = I.

    Examples
    --------
    >>> from spdnorm.geometry import random_spd
    >>> from spdnorm.nn import BWBatchNorm
    >>> layer = BWBatchNorm(4, dtype=torch.float64)
    >>> layer(random_spd(4, 10)).shape, [name for name, _ in layer.named_buffers()]
    (torch.Size([10, 4, 4]), ['running_mean', 'running_var', 'num_batches_tracked'])
    """

    def __init__(self, num_features: int, **options: Any) -> None:
        if options.pop("learn_metric", False):
            raise ValueError("BWBatchNorm has no metric parameter: use GBWBatchNorm")
        super().__init__(num_features, learn_metric=False, **options)
