"""Puzzles: generated examples that need length, to compare attentions on; no data is read or downloaded."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from regard.base.config import from_dict, to_dict
from regard.base.errors import ConfigError, check_at_least
from regard.data.puzzle_rows import PUZZLES, UNASKED, Puzzle, PuzzleBatch, PuzzleBatches
from regard.decoding.solver import Solver
from regard.decoding.strategy import Strategy
from regard.models.headed import Headed
from regard.models.model import Design
from regard.runs.artifact import Artifact
from regard.tasks.task import Prepared, Say, Task
from regard.tasks.texts import one_model
from regard.training.loss import Loss
from regard.training.validation import mean_losses


@dataclass(frozen=True, kw_only=True)
class ExampleSettings:
    """How many examples there are in a batch and in the validation set."""

    rows: int = 32
    """examples in a batch"""
    dev: int = 256
    """examples in the validation set, drawn from another seed"""
    seed: int = 1
    """the seed of the examples"""

    def __post_init__(self) -> None:
        check_at_least("examples", 1, rows=self.rows, dev=self.dev)
        check_at_least("examples", 0, seed=self.seed)


@dataclass(frozen=True, kw_only=True)
class Solve(Task):
    """The settings of a run on generated puzzles beside model and training."""

    unit: ClassVar[str] = "answers"
    lower: ClassVar[frozenset[str]] = frozenset({"loss"})
    sizes: ClassVar[tuple[str, ...]] = ("text",)
    offers: ClassVar[type] = Headed

    puzzle: Annotated[Any, PUZZLES] = "recall"
    """what is to be solved, and how hard it is"""
    examples: ExampleSettings = field(default_factory=ExampleSettings)
    """the batch size"""

    def prepare(self, folder: Path, data: Path, say: Say = lambda text: None) -> Prepared:
        puzzle: Puzzle = PUZZLES.make(self.puzzle, "puzzle").found_in(data)
        drawn = self.examples
        say("drawing the dev set")
        dev = [puzzle.batch(min(64, drawn.dev - at), drawn.seed + 1, at, 1) for at in range(0, drawn.dev, 64)]
        longest = max(item.tokens.shape[1] for item in dev)
        return Prepared(
            sizes={"text": puzzle.symbols, _HEADS[puzzle.answer]: puzzle.answers},
            train=PuzzleBatches(puzzle, drawn.rows, drawn.seed),
            dev=dev,
            summary=f"examples without end, of up to {longest:,} symbols and {puzzle.answers} answers",
        )

    def loss(self, model: Headed, item: PuzzleBatch) -> Loss:
        logits, wanted = _asked(model, item)
        return Loss(F.cross_entropy(logits, wanted, reduction="sum"), len(wanted))

    def metrics(self, model: Headed, prepared: Prepared) -> dict[str, float]:
        """The loss, and the share of answers that are right."""
        return mean_losses(model, prepared.dev, _judged)

    def longest(self) -> int | None:
        return getattr(self.puzzle, "length", None)

    def extras(self, design: Design, model: Headed, prepared: Prepared) -> dict[str, Any]:
        """Which puzzle it is."""
        batches: Any = prepared.train
        name = type(batches.puzzle).__module__.rpartition(".")[2]
        return {"puzzle": {"name": name, **to_dict(batches.puzzle)}}

    @classmethod
    def open(
        cls,
        artifacts: Sequence[Artifact],
        models: Sequence[Headed],
        *,
        strategy: Strategy | None = None,
        shortlist: bool = False,
    ) -> Solver:
        """A solver, which can be tried on harder puzzles than it learned from."""
        artifact, model = one_model(artifacts, models)
        told = dict(artifact.extras["puzzle"])
        kind: Any = PUZZLES.get(told.pop("name"))
        return Solver(model, from_dict(told, kind))


_HEADS = {"class": "classes", "symbols": "tags"}


def _asked(model: Headed, item: PuzzleBatch) -> tuple[Tensor, Tensor]:
    """The logits and the answers where any are asked for."""
    logits, asked = model(item.tokens, item.lengths), item.wanted != UNASKED
    if not asked.any():
        raise ConfigError("puzzle: none of the examples asks for an answer")
    return logits[asked], item.wanted[asked]


def _judged(model: Any, item: Any) -> Loss:
    logits, wanted = _asked(model, item)
    right = (logits.argmax(-1) == wanted).sum().to(torch.float64)
    return Loss(F.cross_entropy(logits, wanted, reduction="sum"), len(wanted), {"accuracy": right})
