"""Sets: learn something about a set of vectors, in which no order counts: a number, a count, a class, its clusters.

The data are generated (`problem`), or JSON lines of elements and targets.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np
import torch

from regard.base.errors import ConfigError, RegardError, UsageError, check_at_least
from regard.base.files import write_text
from regard.data.drawn import DrawnBatches, ShuffledBatches
from regard.data.set_examples import Scale, SetBatch, SetExample, read_sets
from regard.data.set_goals import (
    GOALS,
    ClassGoal,
    ClusterGoal,
    CountGoal,
    Goal,
    NumberGoal,
    NumberLoss,
    goal_from,
    set_batch,
)
from regard.data.set_problem import SET_PROBLEMS, SetGoal
from regard.data.vector_files import holds_objects_with
from regard.decoding.set_predictor import SetPredictor
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.set_model import SetModel
from regard.runs.artifact import Artifact
from regard.tasks.set_advice import set_settings
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.training.loss import Loss
from regard.training.validation import mean_losses

_LOOKED_AT = 2_000
"""generated examples that scales are taken from"""
_SHOWN = {"accuracy": (2, " %"), "error": (4, ""), "likelihood": (4, " nats"), "behind": (4, " nats")}


@dataclass(frozen=True, kw_only=True)
class SetSettings:
    """The sets, generated or from files, and what is learned about them."""

    problem: Annotated[Any, SET_PROBLEMS] = None
    """what is generated: maximum, digit_sum, unique or clusters; none: the data are in `train`"""
    train: tuple[Path, ...] = ()
    """JSON lines with `elements`, a list of vectors, and `target`, numbers or a class"""
    dev: tuple[Path, ...] = ()
    """files to validate on; of a problem, more examples are generated"""
    goal: SetGoal | Literal["auto"] = "auto"
    """number, count, class or clusters; auto: that of the problem, or by the targets a number or a class"""
    loss: NumberLoss = "absolute"
    """of numbers: the absolute error, or its square"""
    clusters: int = 4
    """how many clusters are told, where these are the goal; a problem has its own number"""
    examples: int = 100_000
    """the generated examples of an epoch; none comes twice"""
    validation: int = 1_000
    """the generated examples that are validated on"""
    batch: int = 128
    """the examples of a batch"""
    seed: int = 1
    """decides what is drawn, and the order of examples in files"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "problem", SET_PROBLEMS.make(self.problem, "data.problem"))
        least = {"examples": self.examples, "validation": self.validation, "clusters": self.clusters}
        check_at_least("data", 1, batch=self.batch, **least)
        check_at_least("data", 0, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class PreparedSets(Prepared):
    """Sets, their scale and goal, and the validation set as it was drawn or read."""

    scale: Scale
    goal: Goal
    dev_targets: tuple[tuple[Any, ...], ...] = ()
    """the targets of each batch of the validation set"""


@dataclass(frozen=True, kw_only=True)
class Sets(Task):
    """The settings of learning from sets beside model and training."""

    unit: ClassVar[str] = "sets"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "error", "behind"})
    sizes: ClassVar[tuple[str, ...]] = ("elements", "outputs")
    offers: ClassVar[type] = SetModel

    data: SetSettings

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        return holds_objects_with([Path(file) for file in data["train"]], "elements", "target")

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        if not files or not holds_objects_with(files, "elements", "target"):
            return None
        return set_settings(files, wishes, [one for file in files for one in read_sets(file)])

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedSets:
        own, problem = self.data, self.data.problem
        if (problem is None) == (not own.train):
            raise ConfigError("data: set either problem, to generate examples, or train, the files to learn from")
        if problem is not None:
            train = problem.draw(np.random.default_rng([own.seed, 2, 2, 2]), _LOOKED_AT)
            dev = problem.draw(np.random.default_rng([own.seed, 1, 1, 1]), own.validation, "dev")
        else:
            say("reading sets")
            train = [one for file in own.train for one in read_sets(data / file)]
            dev = [one for file in own.dev for one in read_sets(data / file, train[0].elements.shape[1])]
        scale = Scale.of(np.concatenate([one.elements for one in train]))
        goal = self._goal(train, scale)
        held = (
            ShuffledBatches(lambda at, draw: [dev[number] for number in at], len(dev), own.batch).in_order()
            if dev
            else []
        )
        width = len(scale.mean)
        sizes = f"{min(len(one.elements) for one in train)} to {max(len(one.elements) for one in train)} elements"
        return PreparedSets(
            sizes={"elements": width, "outputs": goal.outputs},
            train=self._batches(train, scale, goal),
            dev=[set_batch(part, scale, goal) for part in held],
            summary=f"{problem} as often as needed" if problem is not None else f"{len(train):,} sets of {sizes}",
            scale=scale,
            goal=goal,
            dev_targets=tuple(tuple(one.target for one in part) for part in held),
        )

    def _batches(self, train: Sequence[SetExample], scale: Scale, goal: Goal) -> DrawnBatches | ShuffledBatches:
        own = self.data
        if own.problem is None:
            return ShuffledBatches(
                lambda at, draw: set_batch([train[number] for number in at], scale, goal),
                len(train),
                own.batch,
                own.seed,
            )
        draw = own.problem.draw
        return DrawnBatches(lambda *how: set_batch(draw(*how), scale, goal), own.examples, own.batch, own.seed)

    def _goal(self, train: Sequence[SetExample], scale: Scale) -> Goal:
        own, problem, first = self.data, self.data.problem, train[0].target
        named = isinstance(first, str)
        kind = own.goal
        if kind == "auto":
            kind = problem.goal if problem is not None else "class" if named else "number"
        if kind != "clusters" and named != (kind == "class"):
            raise ConfigError(f"data.goal: {kind}, but the targets are {'classes' if named else 'numbers'}")
        match kind:
            case "class":
                classes = tuple(sorted({str(one.target) for one in train}))
                if len(classes) < 2:
                    raise RegardError(f"data.train: there must be at least two classes, but there is only '{first}'")
                return ClassGoal(Scale((), ()), classes)
            case "clusters":
                return ClusterGoal(scale, own.clusters if problem is None else problem.clusters)
            case "count":
                _check_counts(train)
                return CountGoal(Scale((0.0,), (1.0,)))
            case _:
                return NumberGoal(Scale.of(np.array([one.target for one in train])), own.loss)

    def loss(self, model: SetModel, item: SetBatch) -> Loss:
        """The loss of the goal."""
        return Loss(item.goal.loss(model(item.elements, item.lengths), item), item.count)

    def metrics(self, model: SetModel, prepared: PreparedSets) -> dict[str, float]:
        device = next(model.parameters()).device
        items: Sequence[Any] = prepared.dev
        batches = ((item.to(device), targets) for item, targets in zip(items, prepared.dev_targets, strict=True))
        return mean_losses(model, prepared.dev, self.loss) | _mean_scores(model, batches)

    def extras(self, design: Design, model: Any, prepared: PreparedSets) -> dict[str, Any]:
        """The scale of the elements, and what is learned about the sets."""
        kind = next(name for name, goal in GOALS.items() if type(prepared.goal) is goal)
        return {"scale": asdict(prepared.scale), "goal": {"kind": kind, **asdict(prepared.goal)}}

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[Any], **how: Any) -> SetPredictor:
        """A predictor; it has no ensembles."""
        if len(models) > 1:
            raise UsageError("load: models of sets form no ensemble; give one model")
        found = artifacts[0].extras
        return SetPredictor(models[0], goal_from(found["goal"]), Scale.from_dict(found["scale"]))

    @classmethod
    def evaluate(cls, opened: SetPredictor, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The scores of the goal on files of sets."""
        width, goal = len(opened.scale.mean), opened.goal
        examples = [one for file in files for one in read_sets(file, width)]
        try:
            batch = set_batch(examples, opened.scale, goal)
        except (RegardError, ValueError) as error:
            raise RegardError(f"{files[0]}: its targets are not those of the training data: {error}") from error
        device = next(opened.model.parameters()).device
        opened.model.eval()
        with how.measured(len(examples), "sets"):
            scores = _mean_scores(opened.model, [(batch.to(device), tuple(one.target for one in examples))])
        if how.out is not None:
            told = opened.answers([one.elements for one in examples])
            write_text(how.out, "".join(msgspec.json.encode({"answer": one}).decode() + "\n" for one in told))
        return [
            QualityScore(name, value, digits=_SHOWN[name][0], after=_SHOWN[name][1]) for name, value in scores.items()
        ]


@torch.no_grad()
def _mean_scores(model: Any, batches: Iterable[tuple[SetBatch, Sequence[Any]]]) -> dict[str, float]:
    found = [item.goal.scores(model(item.elements, item.lengths), item, targets) for item, targets in batches]
    return {name: float(np.concatenate([one[name] for one in found]).mean()) for name in found[0]} if found else {}


def _check_counts(train: Sequence[SetExample]) -> None:
    given = [one.target for one in train if not isinstance(one.target, str)]
    odd = next((own for own in given if len(own) != 1 or own[0] % 1 or own[0] < 0), None)
    if odd is not None:
        raise RegardError(f"data.goal: a count is a whole number from 0, but a target is {list(odd)}")
