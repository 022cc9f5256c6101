"""Descent on manifolds: Riemannian SGD, Adam and AMSGrad on geoopt, and parameter groups for any optimiser."""

from spdnorm.nn.manifolds import SPDManifold
from spdnorm.nn.semi_orthogonal import RowStiefel
from spdnorm.optim.groups import parameter_groups
from spdnorm.optim.registry import get, names
from spdnorm.optim.riemannian_adam import RiemannianAdam
from spdnorm.optim.riemannian_sgd import RiemannianSGD

__all__ = [
    "RiemannianAdam",
    "RiemannianSGD",
    "RowStiefel",
    "SPDManifold",
    "get",
    "names",
    "parameter_groups",
]
