"""The metric-specific half of batch normalisation."""

from spdnorm.functional.kernels.affine_invariant import AffineInvariantKernel
from spdnorm.functional.kernels.base import GenericKernel, NormKernel
from spdnorm.functional.kernels.bures_wasserstein import BuresWassersteinKernel
from spdnorm.functional.kernels.charted import ChartedKernel
from spdnorm.functional.kernels.dispatch import kernel_for, register_kernel
from spdnorm.functional.kernels.flat import FlatKernel
from spdnorm.functional.kernels.learnable_power import LearnablePowerChart

__all__ = [
    "AffineInvariantKernel",
    "BuresWassersteinKernel",
    "ChartedKernel",
    "FlatKernel",
    "GenericKernel",
    "LearnablePowerChart",
    "NormKernel",
    "kernel_for",
    "register_kernel",
]
