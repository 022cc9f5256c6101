"""Covariance layer."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from spdnorm.functional.covariance import check_options, covariance


class Covariance(nn.Module):
    """Covariance matrices of signals; see :func:`spdnorm.functional.covariance.covariance`.

    Parameters
    ----------
    estimator : "sample", "shrinkage", "oas" or "ledoit-wolf"
    regularization : "trace", "plain" or "none"
        + epsilon tr(C) I, + epsilon I, or nothing.
    epsilon : float
        lambda of the paper, 1e-5.
    shrinkage : float
        Weight of ``estimator="shrinkage"``.
    trace_normalize : bool
        Divide by the trace before regularising (Pan et al. 2022).
    segments : int, optional
        One matrix for each of so many consecutive parts (MAtt's E2R), on an axis of its own.
    center : bool
        Subtract the mean over time.
    correction : int
        Degrees of freedom taken off the number of times.

    Shape
    -----
    (..., n, T) -> (..., n, n) or (..., segments, n, n)

    Examples
    --------
    >>> from spdnorm.nn import Covariance
    >>> Covariance()(torch.randn(5, 8, 125)).shape
    torch.Size([5, 8, 8])
    """

    def __init__(
        self,
        *,
        estimator: str = "sample",
        regularization: str = "trace",
        epsilon: float = 1e-5,
        shrinkage: float = 0.1,
        trace_normalize: bool = False,
        segments: int | None = None,
        center: bool = True,
        correction: int = 1,
    ) -> None:
        super().__init__()
        check_options(estimator, regularization, shrinkage, epsilon, segments)
        self.options: dict[str, Any] = {
            "estimator": estimator,
            "regularization": regularization,
            "epsilon": float(epsilon),
            "shrinkage": float(shrinkage),
            "trace_normalize": trace_normalize,
            "segments": segments,
            "center": center,
            "correction": correction,
        }

    def forward(self, x: Tensor) -> Tensor:
        """Signals (..., n, T) -> covariances (..., n, n)."""
        return covariance(x, **self.options)

    def extra_repr(self) -> str:
        """All options."""
        return ", ".join(f"{key}={value!r}" for key, value in self.options.items())
