"""Layers: normalisations, and the SPDNet blocks around them."""

from spdnorm.nn.bimap import BiMap
from spdnorm.nn.covariance import Covariance
from spdnorm.nn.logeig import LogEig
from spdnorm.nn.norm import (
    BWBatchNorm,
    DomainBatchNorm,
    GBWBatchNorm,
    LieBatchNorm,
    ManifoldNorm,
    RiemannianBatchNorm,
    SPDBatchNorm,
    SPDMomentumBatchNorm,
    convert_sync_batchnorm,
    domain_ids,
    norm_layer,
    norm_names,
    refit,
    register_norm,
)
from spdnorm.nn.reeig import ReEig
from spdnorm.nn.residual import RiemannianResidual

__all__ = [
    "BWBatchNorm",
    "BiMap",
    "Covariance",
    "DomainBatchNorm",
    "GBWBatchNorm",
    "LieBatchNorm",
    "LogEig",
    "ManifoldNorm",
    "ReEig",
    "RiemannianBatchNorm",
    "RiemannianResidual",
    "SPDBatchNorm",
    "SPDMomentumBatchNorm",
    "convert_sync_batchnorm",
    "domain_ids",
    "norm_layer",
    "norm_names",
    "refit",
    "register_norm",
]
