"""The law suite that every metric inherits."""

from spdnorm.testing.laws.geometric import DistanceLaws, InvarianceLaws, MapLaws, TransportLaws
from spdnorm.testing.laws.numerical import DerivativeLaws, HardLaws
from spdnorm.testing.laws.statistical import MeanLaws
from spdnorm.testing.laws.suite import OPERATORS, Draw, MetricSuite, assert_relative
from spdnorm.testing.laws.tensorial import PrecisionLaws, ShapeLaws, TransformLaws


class MetricLaws(
    MapLaws,
    DistanceLaws,
    TransportLaws,
    InvarianceLaws,
    MeanLaws,
    DerivativeLaws,
    HardLaws,
    TransformLaws,
    PrecisionLaws,
    ShapeLaws,
):
    """Everything that is expected of a metric; subclass it in a pytest module to test your own.

    Examples
    --------
    >>> class TestMine(MetricLaws):
    ...     invariances = ("orthogonal",)
    ...
    ...     def make_metric(self, n, dtype=torch.float64):
    ...         return MyMetric()
    """


__all__ = ["OPERATORS", "Draw", "MetricLaws", "MetricSuite", "assert_relative"]
