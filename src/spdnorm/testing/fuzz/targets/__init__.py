"""What is run on a case. A target returns what is wrong, and raises ValueError where it refuses the input."""

from spdnorm.testing.fuzz.targets.common import Target
from spdnorm.testing.fuzz.targets.estimators import ESTIMATORS, estimator
from spdnorm.testing.fuzz.targets.functions import FUNCTIONS, function
from spdnorm.testing.fuzz.targets.metrics import METRICS, metric
from spdnorm.testing.fuzz.targets.modules import MODULES, module
from spdnorm.testing.fuzz.targets.norms import NORMS, norm

__all__ = ["MAY_REFUSE", "NORMS", "TAKES_SINGULAR", "TARGETS", "Target"]

#: Everything that a case is thrown at, by name.
TARGETS: dict[str, Target] = {
    **{f"norm {name}": norm(name) for name in NORMS},
    **{f"extreme {name}": norm(name, extreme=True) for name in NORMS},
    **{f"metric {name}": metric(name) for name in METRICS},
    **{f"function {name}": function(name) for name in FUNCTIONS},
    **{f"layer {name}": module(name) for name in MODULES},
    **{f"estimator {name}": estimator(name) for name in ESTIMATORS},
}

#: Targets that must take singular matrices; all others may refuse one.
TAKES_SINGULAR = frozenset(
    {"norm gbw", "norm gbw-channels", "norm bw", "norm domain", "metric bwm", "metric gbwm", "metric bwm-power"}
    | {"layer reeig", "layer bimap", "layer logeig", "layer residual-aim", "layer residual-lem", "layer residual-frame"}
    | {"layer spdnet", "layer rresnet", "layer covariance", "layer eegspdnet"}
    | {"function sqrtm", "function powm", "function clampm", "function absm"}
    | {"estimator spdnet", "estimator eegspdnet", "estimator norm"}
)

#: Targets whose parameters may lead out of the dtype's range: an error that says so is as good as a result.
MAY_REFUSE = frozenset(name for name in TARGETS if name.startswith("extreme "))
