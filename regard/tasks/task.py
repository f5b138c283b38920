"""What a model is for. A model computes, a task says what for, a run is both on some data.

A task is one file in this folder: a frozen dataclass whose fields are run.toml's tables beside name, model and
training; one with `metadata={"path": "training.loss"}` stands there instead. Trainer, resume, `doctor`, `evaluate`,
`compare` and `regard.load` know tasks, never pairs of tokens.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, UsageError
from regard.data.checkup import Checkup
from regard.data.item import Batches, Item
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.models.model import MODELS, Design
from regard.runs.artifact import Artifact
from regard.runs.folder import RunFolder
from regard.training.loss import Loss
from regard.training.validation import mean_losses

TASKS = Catalog("regard.tasks", besides=("advice", "run", "start", "task", "texts"))

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Data that is read, checked and encoded: all that a training needs but the model."""

    sizes: Mapping[str, int]
    """what a model is built for, such as the sizes of vocabularies"""
    train: Batches
    dev: Sequence[Item] = ()
    """what a validation computes the loss of; nothing is validated where it is empty"""
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    """in the `tokenizer.json` format, by side"""
    summary: str = ""
    """the size of the training data, in words"""
    notes: tuple[str, ...] = ()
    """what a person should know, such as examples that are left out"""


@dataclass(frozen=True)
class Advice:
    """The settings that suit some files, as the text of a run.toml, and the reasons in words."""

    text: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a user asks of `regard init` beside the files to learn from; what is None is for the task to choose."""

    dev: tuple[Path, ...] = ()
    name: str | None = None
    model: str | None = None
    preset: str | None = None
    out: Path = Path("run.toml")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """How to evaluate; a task reads what concerns it."""

    search: Callable[[Strategy], Strategy] = lambda own: own
    """from the model's own strategy to the one to use"""
    tokenize: str | None = None
    lowercase: bool = False
    samples: int = 0
    """resamplings for confidence intervals"""
    groups: int = 0
    """into how many groups, such as of like length, the first score is taken apart"""
    out: Path | None = None
    """where outputs are written"""
    started: Callable[[int], Callable[[int], Any]] = lambda count: lambda done: None
    """told how many examples there are, gives what is told how many are done"""


class Task(ABC):
    """The base of all tasks: what differs between kinds of data and kinds of answers."""

    unit: ClassVar[str] = "tokens"
    """what `Item.count` counts, in the plural"""
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity"})
    """the metrics of which less is better"""
    sizes: ClassVar[tuple[str, ...]] = ()
    """the names of the sizes that `prepare` gives"""
    offers: ClassVar[type | None] = None
    """what a model must be an instance of, such as a protocol; None where any will do"""

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        """Whether a run file without a `task`, whose table [data] is this, means the task."""
        return False

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        """The settings that suit these files, or None: they are not of this task's kind."""
        return None

    @abstractmethod
    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> Prepared:
        """Read, learn vocabularies, encode; what was done before in the run's folder and is still true is kept.

        `data` is where relative file names start.
        """

    @abstractmethod
    def loss(self, model: Any, item: Any) -> Loss:
        """What training makes small on an item."""

    def metrics(self, model: Any, prepared: Any) -> dict[str, float]:
        """The numbers of a validation; any of them can decide."""
        return mean_losses(model, prepared.dev, self.loss)

    def extras(self, design: Design, model: Any, prepared: Any) -> dict[str, Any]:
        """What else goes into the model file, as JSON has it."""
        return {}

    def flops(self, design: Design, prepared: Any) -> float | None:
        """The floating-point operations of an epoch, where they are known."""
        return None

    def check(self, prepared: Any, data: Path, test: Sequence[Path] = ()) -> Checkup:
        """What is wrong with the data, and what it is like: for `regard doctor`."""
        return Checkup(facts=(prepared.summary,), findings=[])

    def finish(self, folder: RunFolder, prepared: Any, device: str, say: Say) -> None:
        """What is done once after training, such as choosing the heads that align."""
        return

    @classmethod
    @abstractmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Any],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Any:
        """What `regard.load` gives: a Translator, a Generator, …; several models work together, if they can."""

    @classmethod
    def evaluate(cls, opened: Any, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The scores of a model on a test set, the most telling first."""
        raise UsageError(f"evaluate: the task {cls.task_name()} has no evaluation")

    @classmethod
    def task_name(cls) -> str:
        """The task's name in a run file: that of its file."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    def check_model(cls, design: Design) -> None:
        """The model is built for what the task gives, or a sentence says which models are."""
        if not set(design.needs) <= set(cls.sizes):
            own = type(design).__module__.rpartition(".")[2]
            fitting = [name for name in MODELS.names if set(_needs(name)) <= set(cls.sizes)]
            raise ConfigError(
                f"model.name: {own} learns from {_listed(design.needs)}, but the task {cls.task_name()} gives "
                f"{_listed(cls.sizes)}; models for it are: {', '.join(fitting)}"
            )

    @classmethod
    def check_offer(cls, model: Any) -> None:
        """The built model offers what the task asks of it."""
        if cls.offers is not None and not isinstance(model, cls.offers):
            raise ConfigError(
                f"model.name: the task {cls.task_name()} asks for a {cls.offers.__name__}, "
                f"which a {type(model).__name__} is not"
            )


def _needs(name: str) -> tuple[str, ...]:
    needs: tuple[str, ...] = MODELS.get(name).needs  # type: ignore[attr-defined]
    return needs


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "nothing"
