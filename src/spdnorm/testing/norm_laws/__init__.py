"""The law suite that every normalisation layer inherits."""

from spdnorm.testing.norm_laws.gradients import GradientLaws
from spdnorm.testing.norm_laws.numerics import NumericalLaws
from spdnorm.testing.norm_laws.programs import ProgramLaws
from spdnorm.testing.norm_laws.promises import PromiseLaws
from spdnorm.testing.norm_laws.semantics import SemanticLaws
from spdnorm.testing.norm_laws.shapes import ShapeLaws
from spdnorm.testing.norm_laws.suite import NormSuite, randomize


class NormLaws(PromiseLaws, SemanticLaws, ShapeLaws, GradientLaws, NumericalLaws, ProgramLaws):
    """Everything that is expected of a normalisation layer; subclass it in a pytest module to test your own.

    Examples
    --------
    >>> class TestMine(NormLaws):
    ...     def make(self, n, **options):
    ...         return MyNorm(n, **options)
    ...
    ...     def metric(self, layer):
    ...         return MyMetric()
    """


__all__ = ["NormLaws", "NormSuite", "randomize"]
