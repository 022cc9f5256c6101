"""scikit-learn estimators: classifiers on SPD matrices and on signals, and the normalisations as a transformer."""

try:
    import sklearn  # noqa: F401
    import skorch  # noqa: F401
except ImportError as error:
    raise ImportError("spdnorm.estimators needs scikit-learn and skorch: pip install 'spdnorm[sklearn]'") from error

from spdnorm.estimators.eegspdnet import EEGSPDNetClassifier
from spdnorm.estimators.spdnet import SPDNetClassifier
from spdnorm.estimators.transformer import RiemannianBatchNormTransformer

__all__ = ["EEGSPDNetClassifier", "RiemannianBatchNormTransformer", "SPDNetClassifier"]
