"""The base class of tasks. A model computes, a task says what for, a run is both on some data.

A task is one file in this folder: a frozen dataclass whose fields are run.toml's tables beside name, model and
training; a field with `metadata={"path": "training.loss"}` is read from that place instead. Trainer, resume,
`doctor`, `evaluate`, `compare` and `regard.load` know tasks, never pairs of tokens.
"""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, RegardError, UsageError
from regard.base.files import read_text, unwritable, write_text
from regard.data.checkup import Checkup
from regard.data.corpus import Blanks, Corpus
from regard.data.folder_files import is_container
from regard.data.format import Hints
from regard.data.item import Batches, Item
from regard.data.recognize import recognize
from regard.decoding.strategy import Strategy
from regard.metrics.quality import QualityScore
from regard.metrics.significance import Judged
from regard.models.model import MODELS, Design
from regard.runs.artifact import Artifact
from regard.runs.folder import RunFolder
from regard.training.loss import Loss
from regard.training.validation import mean_losses

TASKS = Catalog(
    "regard.tasks",
    besides=(
        "advice",
        "beginning",
        "class_loss",
        "class_outputs",
        "fixed_features",
        "held_out_examples",
        "image_advice",
        "label_advice",
        "node_advice",
        "point_advice",
        "ranked",
        "run",
        "running_text",
        "set_advice",
        "start",
        "starting_vectors",
        "task",
        "text_advice",
        "text_files",
        "text_kinds",
        "text_languages",
        "texts",
        "tuning_advice",
        "tuning_ways",
        "writer_tuning_advice",
    ),
)

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The data of a run after reading, checking and encoding: all that training needs besides the model."""

    sizes: Mapping[str, int]
    """what a model is built for, such as the sizes of vocabularies"""
    train: Batches
    dev: Sequence[Item] = ()
    """the batches of the validation set; if empty, there is no validation"""
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    """in the `tokenizer.json` format, by side"""
    summary: str = ""
    """the size of the training data, in words"""
    notes: tuple[str, ...] = ()
    """notes for the user, such as examples that are left out"""


_REMARK = re.compile(r"^(\S[^#\n]*?) +# ([^\"\n]*)$", re.MULTILINE)
"""a setting and the remark behind it; a remark has no quotation mark, so that a # within a string is none"""


@dataclass(frozen=True)
class Advice:
    """Recommended settings for some files, as the text of a run.toml, with the reasons in words."""

    text: str
    reasons: tuple[str, ...]
    files: Mapping[Path, str] = field(default_factory=dict)
    """further files that the settings name and that are still to be written, such as a dev set that is held out"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", _REMARK.sub(lambda found: f"{found[1]:<30} # {found[2]}", self.text))

    def write(self, force: bool = False) -> None:
        """Write the further files; one that is there with other content is refused, unless by force."""
        for path, text in self.files.items():
            if path.exists() and not force and read_text(path) != text:
                raise UsageError(
                    f"{path}: is there already with other lines; --force writes over it, --name names others"
                )
        for path, text in self.files.items():
            try:
                path.parent.mkdir(exist_ok=True)
            except OSError as error:
                raise unwritable(path.parent, error) from error
            write_text(path, text)


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The options of `regard init` besides the training files; the task chooses those that are None."""

    dev: tuple[Path, ...] = ()
    test: tuple[Path, ...] = ()
    hints: Hints = field(default_factory=Hints)
    """how the files are read, as far as it is said"""
    format: str | None = None
    """the name of their format"""
    hold_out: int | None = None
    """the lines of each set that is held out where none is given; 0: none"""
    name: str | None = None
    task: str | None = None
    """the task that the files are for, where it is said"""
    model: str | None = None
    preset: str | None = None
    out: Path = Path("run.toml")


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The options of an evaluation; a task reads those that concern it."""

    search: Callable[[Strategy], Strategy] = lambda own: own
    """maps the model's decoding strategy to the one to use"""
    tokenize: str | None = None
    lowercase: bool = False
    samples: int = 0
    """bootstrap resamplings for confidence intervals"""
    groups: int = 0
    """the number of groups, such as by length, in which the first score is also given"""
    hints: Hints = field(default_factory=Hints)
    """how the test files are read, as far as it is said"""
    format: str | None = None
    """the name of their format"""
    out: Path | None = None
    """the file that the outputs are written to"""
    memory: int | None = None
    """how many tokens back a model with a rolling memory sees; None: as in training"""
    bound: int | None = None
    """the samples of the importance-weighted bound on the likelihood, which a VAE has; None: it is not computed"""
    judged: Callable[[Judged], Any] = lambda judged: None
    """is called with the outputs and their references, by tasks that write text"""
    measured: Callable[[int, str], AbstractContextManager[Any]] = lambda count, what: nullcontext()
    """wraps the model's own work, to measure its speed: called with the number of examples, and what they are"""
    warn: Callable[[str], Any] = lambda text: warnings.warn(text, stacklevel=3)
    """is told what a reader of the scores should know, such as labels that training did not see"""
    started: Callable[[int], Callable[[int], Any]] = lambda count: lambda done: None
    """a progress bar: called with the number of examples, returns a function called with the number done"""

    def corpus(self, files: Sequence[Path], blanks: Blanks = "skip") -> Corpus:
        """The text of the test files."""
        places = tuple(files)
        return Corpus(files=places, format=recognize(places, self.hints, self.format).format, blanks=blanks)


class Task(ABC):
    """The base of all tasks: data, loss, metrics, and what a loaded model can do."""

    unit: ClassVar[str] = "tokens"
    """what `Item.count` counts, in the plural"""
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity"})
    """the metrics for which lower is better"""
    sizes: ClassVar[tuple[str, ...]] = ()
    """the names of the sizes that `prepare` gives"""
    offers: ClassVar[type | None] = None
    """the class or protocol that a model must be an instance of; None if any will do"""

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        """Whether a run file without `task`, but with this table [data], means this task."""
        return False

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        """Recommended settings for these files, or None if they are not data for this task."""
        return None

    @abstractmethod
    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> Prepared:
        """Read the data, learn vocabularies, encode; results from before in the run's folder are reused if still valid.

        Relative file names start at `data`.
        """

    def with_fixed_features(self, model: Any, prepared: Any, say: Say) -> Any:
        """The same data with what a model that stays as it is makes of it, where only a head learns from that."""
        return prepared

    @abstractmethod
    def loss(self, model: Any, item: Any) -> Loss:
        """The training loss on an item."""

    def metrics(self, model: Any, prepared: Any) -> dict[str, float]:
        """The metrics of a validation; any of them can decide early stopping and the best checkpoint."""
        return mean_losses(model, prepared.dev, self.loss)

    def extras(self, design: Design, model: Any, prepared: Any) -> dict[str, Any]:
        """Further entries of the model file's metadata, as JSON values."""
        return {}

    def longest(self) -> int | None:
        """The most tokens that the model reads at once in training, where the settings tell."""
        return None

    def flops(self, design: Design, prepared: Any) -> float | None:
        """The floating-point operations of an epoch, if known."""
        return None

    def check(self, prepared: Any, data: Path, test: Sequence[Path] = ()) -> Checkup:
        """Facts about the data and problems in it, for `regard doctor`."""
        return Checkup(facts=(prepared.summary,), findings=[])

    def finish(self, folder: RunFolder, prepared: Any, device: str, say: Say) -> None:
        """Work that is done once after training, such as choosing alignment heads."""
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
        """What `regard.load` returns: a Translator, a Generator, …; several models form an ensemble, if they can."""

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
        """Raise an error if the model is for other data than the task's; it lists the models that fit."""
        if not set(design.needs) <= set(cls.sizes):
            own = type(design).__module__.rpartition(".")[2]
            fitting = [name for name in MODELS.names if set(_needs(name)) <= set(cls.sizes) and cls._offered_by(name)]
            raise ConfigError(
                f"model.name: {own} learns from {_listed(design.needs)}, but the task {cls.task_name()} gives "
                f"{_listed(cls.sizes)}; models for it are: {', '.join(fitting)}"
            )

    @classmethod
    def _offered_by(cls, name: str) -> bool:
        """Whether a model of this name, as its defaults have it, is what the task needs."""
        with torch.device("meta"):
            built = MODELS.make(name).build(dict.fromkeys(_needs(name), 8))
        return cls.offers is None or isinstance(built, cls.offers)

    @classmethod
    def check_offer(cls, model: Any) -> None:
        """Raise an error if the built model is not of the class or protocol that the task needs."""
        if cls.offers is not None and not isinstance(model, cls.offers):
            raise ConfigError(
                f"model.name: the task {cls.task_name()} asks for a {cls.offers.__name__}, "
                f"which a {type(model).__name__} is not"
            )


_TEXT_SIZES = {"text", "source", "target"}
"""what tasks on texts give; they take any file for text, so that the objections of others say more"""


def advice_for(files: Sequence[Path], wishes: Wishes) -> Advice:
    """The recommended settings of the one task that the files are data for; every task is asked."""
    found: dict[str, Advice] = {}
    refused: list[tuple[bool, RegardError]] = []
    asked = TASKS.names if wishes.task is None else [wishes.task]
    for name in asked:
        try:
            advice = TASKS.get(name).advise(files, wishes)  # type: ignore[attr-defined]
        except RegardError as error:  # another task may be able to read the files
            refused.append((set(TASKS.get(name).sizes) <= _TEXT_SIZES, error))  # type: ignore[attr-defined]
            continue
        if advice is not None:
            found[name] = advice
    if refused and not found:
        raise min(refused, key=lambda one: one[0])[1]
    if not found and wishes.task is not None:
        TASKS.get(wishes.task, "--task")
        raise UsageError(f"init: {' and '.join(map(str, files))}: cannot be read as data for the task {wishes.task}")
    if len(found) != 1:
        empty = next((file for file in files if not found and is_container(file)), None)
        if empty is not None:
            below = sorted(path.name for path in empty.iterdir() if path.is_dir()) if empty.is_dir() else []
            hint = f"; its folders ({', '.join(below[:4])}) are not looked into: name two files" if below else ""
            raise UsageError(
                f"{empty}: holds no files that are known, such as train.en and train.de, or pairs.tsv{hint}"
            )
        listed = ", ".join(found or TASKS.names)
        raise UsageError(f"init: the files do not tell what they are for; tasks are: {listed}; --task names one")
    (advice,) = found.values()
    return advice


def _needs(name: str) -> tuple[str, ...]:
    needs: tuple[str, ...] = MODELS.get(name).needs  # type: ignore[attr-defined]
    return needs


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) or "nothing"
