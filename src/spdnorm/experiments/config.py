"""What one run is: a frozen configuration with a canonical form and a hash.

Everything that may change the result is in :class:`RunConfig`; everything that only says how it is computed
(device, threads, progress, logs) is in :class:`~.execution.Execution` and has no part in the hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from .errors import ConfigError

__all__ = [
    "AverageConfig",
    "DataConfig",
    "ModelConfig",
    "OptimConfig",
    "RunConfig",
    "ScheduleConfig",
    "SplitConfig",
    "TrainConfig",
    "canonical",
    "validate",
]

T = TypeVar("T", bound=BaseModel)

#: Part of the hash: raised when the meaning of a configuration changes.
SCHEMA_VERSION = 1


class Frozen(BaseModel):
    """A part of a configuration: immutable, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)

    #: Keys that came after results had been published: left out while they are at their default, so that the hash of a
    #: run that does not use them stays what it was.
    added: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields = type(self).model_fields
        unused = {name for name in self.added if getattr(self, name) == fields[name].default}
        return {name: value for name, value in handler(self).items() if name not in unused}


def _plain(value: Any) -> Any:
    # TOML, YAML and the command line spell the same number differently: 1 and 1.0 are one configuration.
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


Options = Annotated[dict[str, Any], BeforeValidator(_plain)]
#: One entry for each layer.
LayerOptions = Annotated[list[dict[str, Any]], BeforeValidator(_plain)]


class SplitConfig(Frozen):
    """Which samples train, validate and test.

    ``column``: a metadata column holds ``train``, ``validation`` and ``test``. ``half``: a random half of every
    class trains, the rest tests; ``fold`` picks the draw. ``groups``: ``folds`` folds that never share a group
    (a subject, say); fold number ``fold`` tests. ``blocks``: the samples of every group (a session, say) and class are
    cut in their order into ``folds`` consecutive blocks; block number ``fold`` tests. ``sessions``: the last session
    (in sorted order) of every group tests, the one before validates. ``last-session``: the last session of every group
    tests, all before train. ``inner``: ``column`` without its test part, to choose a configuration by: what validates
    there tests, and of what trains there the last session of every group validates.
    ``validation`` is the fraction of the training samples, or of the
    training groups, that is put aside where the split itself names none.

    Examples
    --------
    >>> from spdnorm.experiments import SplitConfig
    >>> SplitConfig(by="groups", group="subject", folds=5, fold=2).fold
    2
    """

    by: Literal["column", "half", "groups", "blocks", "sessions", "last-session", "inner"] = "column"
    column: str = "split"
    group: str = "subject"
    folds: int = Field(default=10, ge=2)
    fold: int = Field(default=0, ge=0)
    validation: float = Field(default=0.0, ge=0.0, lt=1.0)
    seed: int = 0

    @model_validator(mode="after")
    def _fold_exists(self) -> Self:
        if self.by in ("groups", "blocks") and self.fold >= self.folds:
            raise ValueError(f"fold={self.fold} of {self.folds} folds: they are counted from 0")
        return self


class DataConfig(Frozen):
    """A data set by its registry name, what of it, and how it becomes the network's input.

    ``bands`` are (low, high) in hertz: signals are split into them, one beside the other as more channels, before
    covariances are taken. ``domain`` is a metadata column (``session``, say): every value of it has statistics of its
    own in every normalisation (:class:`spdnorm.nn.DomainBatchNorm`).

    Examples
    --------
    >>> from spdnorm.experiments import DataConfig
    >>> DataConfig(name="mamem", where={"subject": 11}).where
    {'subject': 11}
    """

    added: ClassVar[frozenset[str]] = frozenset({"bands", "domain"})

    name: str
    options: Options = {}
    where: Options = {}
    bands: tuple[tuple[float, float], ...] = ()
    domain: str | None = None
    covariance: Options | None = None
    regularization: float = Field(default=0.0, ge=0.0)
    split: SplitConfig = SplitConfig()


class ModelConfig(Frozen):
    """A network by name, and the normalisation in it; a list of ``norm_options`` has an entry for each layer.

    Examples
    --------
    >>> from spdnorm.experiments import ModelConfig
    >>> ModelConfig(name="spdnet", norm="gbw", norm_options={"theta": 0.5}).norm
    'gbw'
    """

    name: str
    norm: str = "none"
    norm_options: Options | LayerOptions = {}
    options: Options = {}


class ScheduleConfig(Frozen):
    """Learning-rate schedule: ``step`` (gamma every step_size epochs), ``cosine`` (to zero) or ``plateau``.

    Examples
    --------
    >>> from spdnorm.experiments import ScheduleConfig
    >>> ScheduleConfig(name="step", step_size=50, gamma=0.5).name
    'step'
    """

    name: Literal["none", "step", "cosine", "plateau"] = "none"
    step_size: int = Field(default=50, ge=1)
    gamma: float = Field(default=0.1, gt=0.0, le=1.0)
    patience: int = Field(default=10, ge=0)


class OptimConfig(Frozen):
    """The optimiser by its name in :mod:`spdnorm.optim`, what it takes, and the schedule of its learning rate.

    Examples
    --------
    >>> from spdnorm.experiments import OptimConfig
    >>> OptimConfig(lr=1e-2).lr
    0.01
    """

    name: str = "torch-adam"
    lr: float = Field(default=2.5e-3, gt=0.0)
    weight_decay: float = Field(default=0.0, ge=0.0)
    options: Options = {}
    schedule: ScheduleConfig = ScheduleConfig()


class AverageConfig(Frozen):
    """Averaging of weights: what is evaluated and kept is the average, what is trained goes on without it.

    ``ema``: exponential, of every step, with weight ``decay`` for the past. ``equal``: of the ends of the epochs
    after that share ``start`` of them. SPD parameters are averaged as their logarithms, other constrained ones in the
    coordinates of their torch parametrisation: the average satisfies every constraint.

    Examples
    --------
    >>> from spdnorm.experiments.config import AverageConfig
    >>> AverageConfig(name="ema", decay=0.99).decay
    0.99
    """

    name: Literal["none", "ema", "equal"] = "none"
    decay: float = Field(default=0.99, ge=0.0, lt=1.0)
    start: float = Field(default=0.5, ge=0.0, lt=1.0)


class TrainConfig(Frozen):
    """The training loop.

    ``dtype="mixed"`` has float32 signals and convolutions and float64 matrices, as the released code of the paper;
    ``precision`` is automatic mixed precision on top of float32. ``adapt`` names parts (``validation``, ``test``) whose
    samples, without their labels, give the normalisations their statistics while that part is evaluated.

    ``select`` chooses the epoch that the protocol ``paper`` reads: by the validation loss, by the validation accuracy
    (of equal ones the smaller loss), or the last one. ``statistics="refit"`` evaluates with the statistics of the
    whole training part under the weights at hand in place of running ones; an average of weights needs it. ``freeze``
    are patterns of parameters that stay at their start (``"*.bimap.*"``). ``crop`` shows the network a window of that
    share of each signal, drawn anew for every batch. ``metric_start="barycentre"`` puts the metric parameter M of
    GBWBN where the barycentre of the training data is the identity; ``metric_penalty`` times the squared distance of
    log M from its start is added to the loss.

    Examples
    --------
    >>> from spdnorm.experiments import TrainConfig
    >>> TrainConfig(epochs=100, batch_size=64, dtype="float32").dtype
    'float32'
    """

    added: ClassVar[frozenset[str]] = frozenset(
        {
            "adapt",
            "average",
            "crop",
            "freeze",
            "label_smoothing",
            "metric_penalty",
            "metric_start",
            "select",
            "statistics",
        }
    )

    epochs: int = Field(default=200, ge=1)
    batch_size: int = Field(default=30, ge=1)
    dtype: Literal["float64", "float32", "mixed"] = "float64"
    precision: Literal["true", "bf16-mixed", "16-mixed"] = "true"
    gradient_clip: float | None = Field(default=None, gt=0.0)
    early_stopping: int | None = Field(default=None, ge=1)
    #: Look at the test part after every so many epochs too; 0 only where a reading needs it.
    test_every: int = Field(default=0, ge=0)
    #: Epochs after which the condition numbers of the features around the norm layer are counted.
    condition_epochs: tuple[int, ...] = ()
    adapt: tuple[Literal["validation", "test"], ...] = ()
    select: Literal["loss", "accuracy", "last"] = "loss"
    statistics: Literal["running", "refit"] = "running"
    average: AverageConfig = AverageConfig()
    label_smoothing: float = Field(default=0.0, ge=0.0, lt=1.0)
    freeze: tuple[str, ...] = ()
    crop: float = Field(default=1.0, gt=0.0, le=1.0)
    metric_start: Literal["identity", "barycentre"] = "identity"
    metric_penalty: float = Field(default=0.0, ge=0.0)

    @model_validator(mode="after")
    def _precision_fits(self) -> Self:
        if self.precision != "true" and self.dtype != "float32":
            raise ValueError(f"precision={self.precision!r} mixes with float32; set train.dtype=float32")
        return self

    @model_validator(mode="after")
    def _average_has_statistics(self) -> Self:
        if self.average.name != "none" and self.statistics != "refit":
            raise ValueError("running statistics belong to no average of weights; set train.statistics=refit")
        return self

    @model_validator(mode="after")
    def _stopping_has_a_best(self) -> Self:
        if self.early_stopping is not None and self.select == "last":
            raise ValueError("early_stopping counts from the best epoch; set train.select to loss or accuracy")
        return self


class RunConfig(Frozen):
    """Everything that determines a run: the same configuration gives the same result.

    Examples
    --------
    >>> from spdnorm.experiments import DataConfig, ModelConfig, RunConfig
    >>> run = RunConfig(data=DataConfig(name="basic-motions"), model=ModelConfig(name="spdnet"), seed=1)
    >>> run.hash == run.with_values({"seed": 2}).with_values({"seed": 1}).hash
    True
    """

    data: DataConfig
    model: ModelConfig
    optim: OptimConfig = OptimConfig()
    train: TrainConfig = TrainConfig()
    seed: int = Field(default=0, ge=0, lt=2**32)

    @model_validator(mode="after")
    def _statistics_exist(self) -> Self:
        for key, asked in (("data.domain", self.data.domain), ("train.adapt", self.train.adapt)):
            if asked and self.model.norm == "none":
                raise ValueError(f"{key} is about the statistics of a normalisation, and model.norm is 'none'")
        return self

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits of the canonical form's SHA-256: the name of the run's folder."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()[:16]

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return a checked copy with dotted keys replaced: ``{"optim.lr": 1e-2, "model.norm": "gbw"}``."""
        tree = self.model_dump(mode="json")
        for key, value in values.items():
            set_dotted(tree, key, value)
        return validate(type(self), tree)


def canonical(config: BaseModel) -> str:
    """Return the one JSON text of a configuration: sorted keys, whole floats as integers, no spaces."""
    content = {"schema": SCHEMA_VERSION, **_plain(config.model_dump(mode="json"))}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def set_dotted(tree: dict[str, Any], key: str, value: Any) -> None:
    """Put ``value`` at a dotted ``key`` of nested mappings, making the ones that are missing."""
    *parents, leaf = key.split(".")
    here = tree
    for name in parents:
        below = here.get(name)
        if below is None:
            below = here[name] = {}
        elif not isinstance(below, dict):
            raise ConfigError(f"{key}: {name!r} holds {below!r}, so nothing can be set below it")
        here = below
    here[leaf] = value


def validate(kind: type[T], tree: Mapping[str, Any], *, where: str = "configuration") -> T:
    """Return ``tree`` as ``kind``, or say which keys do not fit and what would."""
    try:
        return kind.model_validate(tree)
    except ValidationError as error:
        lines = [f"{'.'.join(str(part) for part in item['loc']) or where}: {item['msg']}" for item in error.errors()]
        raise ConfigError(f"{where} does not fit: " + "; ".join(lines)) from None
