"""The stateless core: one function a method, shaped like ``torch.nn.functional.batch_norm``."""

from spdnorm.functional.batch_norm import Options, Statistics, riemannian_batch_norm
from spdnorm.functional.gbw import gbw_batch_norm
from spdnorm.functional.lie import lie_batch_norm
from spdnorm.functional.manifold import manifold_norm
from spdnorm.functional.reference import reference_gbw_batch_norm
from spdnorm.functional.spd import spd_batch_norm, spd_momentum_batch_norm

__all__ = [
    "Options",
    "Statistics",
    "gbw_batch_norm",
    "lie_batch_norm",
    "manifold_norm",
    "reference_gbw_batch_norm",
    "riemannian_batch_norm",
    "spd_batch_norm",
    "spd_momentum_batch_norm",
]
