"""Normalisation layers: the paper's and every method that it compares with."""

from spdnorm.nn.norm.base import RiemannianBatchNorm
from spdnorm.nn.norm.domain import DomainBatchNorm, domain_ids
from spdnorm.nn.norm.gbw import BWBatchNorm, GBWBatchNorm
from spdnorm.nn.norm.lie import LieBatchNorm
from spdnorm.nn.norm.manifold import ManifoldNorm
from spdnorm.nn.norm.refit import refit
from spdnorm.nn.norm.registry import norm_layer, norm_names, register_norm
from spdnorm.nn.norm.spd import SPDBatchNorm, SPDMomentumBatchNorm
from spdnorm.nn.norm.sync import convert_sync_batchnorm

__all__ = [
    "BWBatchNorm",
    "DomainBatchNorm",
    "GBWBatchNorm",
    "LieBatchNorm",
    "ManifoldNorm",
    "RiemannianBatchNorm",
    "SPDBatchNorm",
    "SPDMomentumBatchNorm",
    "convert_sync_batchnorm",
    "domain_ids",
    "norm_layer",
    "norm_names",
    "refit",
    "register_norm",
]
