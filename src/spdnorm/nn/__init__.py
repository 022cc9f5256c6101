"""Layers."""

from spdnorm.nn.bimap import BiMap
from spdnorm.nn.covariance import Covariance
from spdnorm.nn.logeig import LogEig
from spdnorm.nn.reeig import ReEig
from spdnorm.nn.residual import RiemannianResidual

__all__ = [
    "BiMap",
    "Covariance",
    "LogEig",
    "ReEig",
    "RiemannianResidual",
]
