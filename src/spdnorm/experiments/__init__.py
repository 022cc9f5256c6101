"""Experiments: configurations, runs, grids, tables and reports.

A run is a function from a :class:`RunConfig` to a result row; recipes are tables of the paper as data.
"""

try:
    import pydantic  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"spdnorm.experiments needs the package {error.name!r}: pip install 'spdnorm[experiments]'", name=error.name
    ) from error

from .baselines import BASELINES, baseline_accuracies, make_baseline
from .config import DataConfig, ModelConfig, OptimConfig, RunConfig, ScheduleConfig, SplitConfig, TrainConfig
from .errors import CheckpointError, ConfigError, ExperimentError, RunLockedError
from .execution import Execution
from .inspection import fold_shares, inspect_normalisation
from .recipe import Recipe, load_recipe, recipe_names
from .store import RunFolder, Store
from .table import Table, load_tables

__all__ = [
    "BASELINES",
    "CheckpointError",
    "ConfigError",
    "DataConfig",
    "Execution",
    "ExperimentError",
    "ModelConfig",
    "OptimConfig",
    "Recipe",
    "RunConfig",
    "RunFolder",
    "RunLockedError",
    "ScheduleConfig",
    "SplitConfig",
    "Store",
    "Table",
    "TrainConfig",
    "baseline_accuracies",
    "fold_shares",
    "inspect_normalisation",
    "load_recipe",
    "load_tables",
    "make_baseline",
    "recipe_names",
]
