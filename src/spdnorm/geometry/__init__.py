"""Riemannian metrics on SPD matrices."""

from spdnorm.geometry.affine_invariant import AffineInvariant
from spdnorm.geometry.average import Average, plain_average, weighted_average
from spdnorm.geometry.base import Metric
from spdnorm.geometry.bures_wasserstein import BuresWasserstein
from spdnorm.geometry.euclidean import Euclidean
from spdnorm.geometry.generalized_bw import CongruenceChart, GeneralizedBuresWasserstein
from spdnorm.geometry.lie import Translation, translation
from spdnorm.geometry.log_cholesky import LogCholesky, LogCholeskyChart
from spdnorm.geometry.log_euclidean import LogChart, LogEuclidean
from spdnorm.geometry.mean import MeanResult
from spdnorm.geometry.power import PowerChart, PowerDeformed
from spdnorm.geometry.pullback import Chart, Pullback
from spdnorm.geometry.registry import get, names, register
from spdnorm.geometry.sampling import random_spd, random_symmetric

__all__ = [
    "AffineInvariant",
    "Average",
    "BuresWasserstein",
    "Chart",
    "CongruenceChart",
    "Euclidean",
    "GeneralizedBuresWasserstein",
    "LogChart",
    "LogCholesky",
    "LogCholeskyChart",
    "LogEuclidean",
    "MeanResult",
    "Metric",
    "PowerChart",
    "PowerDeformed",
    "Pullback",
    "Translation",
    "get",
    "names",
    "plain_average",
    "random_spd",
    "random_symmetric",
    "register",
    "translation",
    "weighted_average",
]
