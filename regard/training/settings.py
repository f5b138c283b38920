"""Settings of the trainer: optimizer, learning-rate schedule, early stopping, checkpoints and so on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from regard.base.errors import ConfigError, check_at_least, check_at_most, check_one_of
from regard.training.optimizer import OPTIMIZERS
from regard.training.schedule import SCHEDULES
from regard.training.tuning import TUNINGS

Precision = Literal["auto", "float32", "bfloat16"]
Chosen = Literal["best", "last"]
Distribution = Literal["replicas", "shards"]
_MOST_LANES = 1_024
_MOST_BATCHES = 100_000
"""of one step, which are all held until it is taken"""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Training ends at whichever of `steps`, `epochs` and `patience` comes first.

    A schedule that needs to know how many steps there are takes `steps`, unless it has a number of its own.
    """

    seed: int = 1
    """the seed of initial weights, dropout and the order of the data: equal seeds give equal weights, bit for bit"""
    steps: int | None = 100_000
    """the most training steps; none: no such limit"""
    epochs: int | None = None
    """the most passes over the training data"""
    patience: int | None = None
    """early stopping: end after this many validations in a row without a better score"""

    base: Path | None = None
    """fine-tuning: a model file or run folder whose weights training begins with; what it lacks, such as a head for
    other classes, is new"""
    tuning: Annotated[Any, TUNINGS] = None
    """fine-tuning: which weights learn: all, with layer-wise learning-rate decay; frozen: a head alone; adapters:
    low-rank adapters (LoRA) and the head; none: all, at one rate"""

    optimizer: Annotated[Any, OPTIMIZERS] = "adam"
    """how gradients change the weights; the learning rate is one of its settings"""
    schedule: Annotated[Any, SCHEDULES] = "inverse_square_root"
    """the learning-rate schedule: how the learning rate changes over the steps, with its warm-up"""
    clip: float | None = 1.0
    """gradient clipping: the largest norm of the gradient"""
    accumulate: int = 1
    """gradient accumulation: the number of batches per step"""
    lanes: int | None = None
    """data parallelism: the number of parts of a batch that threads and processes (ranks) compute side by side; the
    result depends on it, but not on how many processes there are; by default as many as are faster"""
    distribution: Distribution = "replicas"
    """what each of several ranks holds. replicas: all weights, and any number of ranks gets the same bits; shards:
    a part of the weights and moments (FSDP2), for models that do not fit one device"""
    precision: Precision = "auto"
    """mixed precision: the type of matrix products; auto is bfloat16 on a GPU that has it; on a CPU both are tried on a
    batch before the first step, and the run keeps the faster one"""

    log_every: int = 50
    """write the training loss to the log after so many steps"""
    validate_every: int = 1_000
    """validate after so many steps"""
    checkpoint_every: int = 1_000
    """write a checkpoint after so many steps; a training that is killed resumes from the last one"""
    keep: int = 2
    """how many checkpoints are kept, so that a damaged one can be replaced by the one before it"""
    metric: str = "loss"
    """the validation metric that early stopping and the choice of the best checkpoint use; the loss decides between
    equal values, so that a metric that is still 0 neither ends training nor keeps the first checkpoint"""
    average: int = 1
    """average the weights of up to this many validations in a row for the final model"""
    average_of: Chosen = "best"
    """best: the best validation and its neighbors, if their mean validates at least as well as the best alone, else the
    best alone; last: the latest ones, whatever they score"""

    def __post_init__(self) -> None:
        for part, members in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            chosen = members.make(getattr(self, part), part)
            if chosen is None:
                raise ConfigError(f"{part}: must be one of {', '.join(members.names)}, but is none")
            object.__setattr__(self, part, chosen)
        object.__setattr__(self, "tuning", TUNINGS.make(self.tuning, "tuning"))
        if self.tuning is not None and self.base is None:
            raise ConfigError("training.tuning: goes with training.base, the model that it begins with")
        check_at_least("training", 0, seed=self.seed)
        check_at_most("training", 2**63 - 1, seed=self.seed)
        check_at_most("training", _MOST_LANES, lanes=self.lanes or 1)
        check_at_most("training", _MOST_BATCHES, accumulate=self.accumulate)
        check_at_least("training", 1, lanes=1 if self.lanes is None else self.lanes)
        for name in ("steps", "epochs", "patience"):
            check_at_least("training", 1, **{name: 1 if getattr(self, name) is None else getattr(self, name)})
        counts = ("accumulate", "log_every", "validate_every", "checkpoint_every", "keep", "average")
        check_at_least("training", 1, **{name: getattr(self, name) for name in counts})
        check_one_of("training", get_args(Precision), precision=self.precision)
        check_one_of("training", get_args(Chosen), average_of=self.average_of)
        check_one_of("training", get_args(Distribution), distribution=self.distribution)
        if self.clip is not None and not self.clip > 0:
            raise ConfigError(f"training: clip must be more than 0, but is {self.clip}")
        if self.steps is self.epochs is self.patience is None:
            raise ConfigError("training: set at least one of steps, epochs and patience, or it would never end")
        self.schedule.over(self.steps)

    def rate(self, step: int, scores: Sequence[float]) -> float:
        """The learning rate of a step, counted from 1, after validations with these scores."""
        return float(self.optimizer.learning_rate * self.schedule.over(self.steps).share(step, scores))

    def remarks(self, ranks: int = 1) -> list[str]:
        """What a person should know about settings that are allowed, but odd."""
        remarks = [self.schedule.remark(self.steps)]
        if self.distribution == "shards" and ranks > 1:
            remarks.append(
                "training.distribution: shards are summed by torch in an order that depends on the number of ranks; at "
                "another number the last digits come out differently"
            )
        return [remark for remark in remarks if remark]
