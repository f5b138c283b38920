"""Pointing: learn to answer with positions of the input, such as the points on a convex hull.

The data are generated (`problem`), or JSON lines of points and answers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np
import torch
import torch.nn.functional as F

from regard.base.config import to_dict
from regard.base.errors import ConfigError, UsageError, check_at_least
from regard.base.files import write_text
from regard.data.drawn import DrawnBatches, ShuffledBatches
from regard.data.pointing import PAST, PointBatch, PointingRule, point_batch
from regard.data.problem import PROBLEMS, exact_share
from regard.data.vector_files import Vectors, holds_objects_with, read_points
from regard.decoding.point_solver import Box, PointSolver, box_in
from regard.decoding.strategy import STRATEGIES
from regard.metrics.quality import QualityScore
from regard.models.model import Design
from regard.models.pointer import PointerModel
from regard.runs.artifact import Artifact
from regard.tasks.point_advice import point_settings
from regard.tasks.task import Advice, Evaluation, Prepared, Say, Task, Wishes
from regard.training.loss import LIKELIHOOD, Loss
from regard.training.validation import mean_losses

_DIGITS = {"length": 3}
_AFTER = {"exact": " %", "area": " %", "excess": " %"}


@dataclass(frozen=True, kw_only=True)
class PointSettings:
    """The points, generated or from files, and which answers are valid."""

    problem: Annotated[Any, PROBLEMS] = None
    """what is generated and solved: sorting, hull or tour, as in `hull(10)`; none: the data are in `train`"""
    train: tuple[Path, ...] = ()
    """JSON lines with `points` and `answer`, a list of positions from 0"""
    dev: tuple[Path, ...] = ()
    """files to validate on; of a problem, more examples are generated"""
    rule: PointingRule = field(default_factory=PointingRule)
    """which answers are valid; a problem has its own rule"""
    examples: int = 100_000
    """the generated examples of an epoch; none comes twice"""
    validation: int = 1_000
    """the generated examples that are validated on"""
    batch: int = 128
    """the examples of a batch"""
    seed: int = 1
    """decides what is drawn, and the order of examples in files"""

    def __post_init__(self) -> None:
        object.__setattr__(self, "problem", PROBLEMS.make(self.problem, "data.problem"))
        least = {"examples": self.examples, "validation": self.validation, "batch": self.batch}
        check_at_least("data", 1, **least)
        check_at_least("data", 0, seed=self.seed)

    @property
    def valid(self) -> PointingRule:
        """The rule of the problem, or the one that is set."""
        return self.rule if self.problem is None else self.problem.rule


@dataclass(frozen=True, kw_only=True)
class PreparedPoints(Prepared):
    """Points, what they are scaled by, and the validation set as it was drawn or read."""

    box: Box
    dev_points: tuple[Vectors, ...] = ()
    dev_answers: tuple[list[int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Points(Task):
    """The settings of pointing beside model and training."""

    unit: ClassVar[str] = "choices"
    lower: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity", "length", "excess"})
    sizes: ClassVar[tuple[str, ...]] = ("coordinates",)
    offers: ClassVar[type] = PointerModel

    data: PointSettings

    @classmethod
    def suits(cls, data: Mapping[str, Any]) -> bool:
        return "problem" in data or holds_objects_with([Path(file) for file in data["train"]], "points", "answer")

    @classmethod
    def advise(cls, files: Sequence[Path], wishes: Wishes) -> Advice | None:
        if not files or not holds_objects_with(files, "points", "answer"):
            return None
        loose = PointingRule("allowed", fewest=0, most=10**9)
        return point_settings(files, wishes, [one for file in files for one in read_points(file, loose)])

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> PreparedPoints:
        if (self.data.problem is None) == (not self.data.train):
            raise ConfigError("data: set either problem, to generate examples, or train, the files to learn from")
        if self.data.problem is not None:
            return self._generated()
        say("reading points")
        rows = [one for file in self.data.train for one in read_points(data / file, self.data.rule)]
        width = rows[0][0].shape[1]
        dev = [one for file in self.data.dev for one in read_points(data / file, self.data.rule, width)]
        box = Box.around([points for points, _ in rows])
        batches = self._shuffled(rows, box)
        return PreparedPoints(
            sizes={"coordinates": width},
            train=batches,
            dev=self._shuffled(dev, box).in_order() if dev else (),
            summary=f"{len(rows):,} examples of {min(len(row) for row, _ in rows)} to "
            f"{max(len(row) for row, _ in rows)} points",
            box=box,
            dev_points=tuple(points for points, _ in dev),
            dev_answers=tuple(answer for _, answer in dev),
        )

    def _generated(self) -> PreparedPoints:
        """Data of the problem; the validation set has a seed of its own."""
        problem, own = self.data.problem, self.data

        parts = range(0, own.validation, own.batch)
        dev = [problem.examples(np.random.default_rng([own.seed, 1, 1, 1, at]), own.batch) for at in parts]
        rows = [one for part in dev for one in part][: own.validation]
        box = Box((0.0,) * problem.coordinates)
        return PreparedPoints(
            sizes={"coordinates": problem.coordinates},
            train=DrawnBatches(lambda *how: _batch(problem.examples(*how), box), own.examples, own.batch, own.seed),
            dev=[_batch(part, box) for part in dev],
            summary=f"{problem} as often as needed",
            box=box,
            dev_points=tuple(points for points, _ in rows),
            dev_answers=tuple(answer for _, answer in rows),
        )

    def _shuffled(self, rows: Sequence[tuple[Vectors, list[int]]], box: Box) -> ShuffledBatches:
        return ShuffledBatches(
            lambda numbers, draw: _batch([rows[at] for at in numbers], box), len(rows), self.data.batch, self.data.seed
        )

    def loss(self, model: PointerModel, item: PointBatch) -> Loss:
        """Cross-entropy of the right choices among the valid ones."""
        at = torch.arange(item.points.shape[1] + 1, device=item.lengths.device)
        allowed = self.data.valid.allowed_along(item.choices, at <= item.lengths[:, None])
        logits = model(item.points, item.lengths, item.choices)
        real = item.choices != PAST
        logits = logits.masked_fill(~allowed, -math.inf)[real]
        total = F.cross_entropy(logits, item.choices[real], reduction="sum")
        return Loss(total, item.count, {LIKELIHOOD: total.detach()})

    def metrics(self, model: PointerModel, prepared: PreparedPoints) -> dict[str, float]:
        found = mean_losses(model, prepared.dev, self.loss)
        solver = PointSolver(model, self.data.valid, prepared.box)
        answers = [best[0].positions for best in solver.solve(prepared.dev_points)]
        return found | scores_of(self.data.problem, prepared.dev_points, answers, prepared.dev_answers)

    def extras(self, design: Design, model: Any, prepared: PreparedPoints) -> dict[str, Any]:
        """The rule, what coordinates are scaled by, and the problem."""
        problem = self.data.problem
        named = None if problem is None else {"name": PROBLEMS.names[_number(problem)], **to_dict(problem)}
        return {"box": asdict(prepared.box), "rule": asdict(self.data.valid), "problem": named}

    @classmethod
    def open(cls, artifacts: Sequence[Artifact], models: Sequence[Any], **how: Any) -> PointSolver:
        """A solver; it has no ensembles."""
        if len(models) > 1:
            raise UsageError("load: pointer networks form no ensemble; give one model")
        found = artifacts[0].extras
        search = how.get("strategy")
        beam = getattr(search, "size", 1) if search is not None else 1
        problem = PROBLEMS.make(found["problem"], "problem")
        return PointSolver(models[0], PointingRule(**found["rule"]), box_in(found), beam, problem)

    @classmethod
    def evaluate(cls, opened: PointSolver, files: Sequence[Path], how: Evaluation) -> list[QualityScore]:
        """The share of answers that are right in all steps, and the scores of the problem."""
        rows = [one for file in files for one in read_points(file, opened.rule, len(opened.box.low))]
        inputs, truth = tuple(points for points, _ in rows), tuple(answer for _, answer in rows)
        beam = getattr(how.search(STRATEGIES.make("greedy")), "size", opened.beam)  # --beam, if it is given
        with how.measured(len(inputs), "sets"):
            answers = [best[0].positions for best in opened.solve(inputs, beam)]
        if how.out is not None:
            lines = [msgspec.json.encode({"answer": list(answer)}).decode() for answer in answers]
            write_text(how.out, "\n".join(lines) + "\n")
        valid = sum(
            opened.rule.complaint(answer, len(own)) is None for own, answer in zip(inputs, answers, strict=True)
        )
        scores = scores_of(opened.problem, inputs, answers, truth) | {"valid": 100 * valid / len(rows)}
        return [
            QualityScore(name, value, digits=_DIGITS.get(name, 2), after=_AFTER.get(name, " %" * (name == "valid")))
            for name, value in scores.items()
        ]


def scores_of(
    problem: Any, points: Sequence[Vectors], answers: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]
) -> dict[str, float]:
    """The scores of a problem, or of a user's own data: how many answers are exact."""
    if problem is None:
        return {"exact": exact_share(answers, truth)}
    found: dict[str, float] = problem.scores(points, answers, truth)
    return found


def _batch(rows: Sequence[tuple[Vectors, list[int]]], box: Box) -> PointBatch:
    return point_batch([box.scaled(points) for points, _ in rows], [answer for _, answer in rows])


def _number(problem: Any) -> int:
    return PROBLEMS.names.index(type(problem).__module__.rpartition(".")[2])
