"""The stateless core: one function a method, shaped like ``torch.nn.functional.batch_norm``."""

from spdnorm.functional.batch_norm import Options, Statistics, riemannian_batch_norm
from spdnorm.functional.bimap import bimap
from spdnorm.functional.covariance import covariance
from spdnorm.functional.eigenvalues import eigenvalues, with_eigenvalues
from spdnorm.functional.gbw import gbw_batch_norm
from spdnorm.functional.lie import lie_batch_norm
from spdnorm.functional.logeig import log_eigenvalues
from spdnorm.functional.manifold import manifold_norm
from spdnorm.functional.reeig import rectify_eigenvalues
from spdnorm.functional.reference import reference_gbw_batch_norm
from spdnorm.functional.residual import residual_step
from spdnorm.functional.spd import spd_batch_norm, spd_momentum_batch_norm

__all__ = [
    "Options",
    "Statistics",
    "bimap",
    "covariance",
    "eigenvalues",
    "gbw_batch_norm",
    "lie_batch_norm",
    "log_eigenvalues",
    "manifold_norm",
    "rectify_eigenvalues",
    "reference_gbw_batch_norm",
    "residual_step",
    "riemannian_batch_norm",
    "spd_batch_norm",
    "spd_momentum_batch_norm",
    "with_eigenvalues",
]
