"""A trained pointer network: answers that are positions of the input, and what each step looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from regard.base.errors import UsageError
from regard.data.pointing import PointingRule, padded_rows
from regard.data.vector_files import Vectors, object_in, points_in
from regard.decoding.pointing_search import PointedAnswer, looks, point
from regard.decoding.predictor import Answering, Prediction
from regard.models.pointer import PointerModel

_AT_ONCE = 256


@dataclass(frozen=True)
class Box:
    """What coordinates are scaled by, so that those of the training data lie between 0 and 1."""

    low: tuple[float, ...]
    span: float = 1.0

    @classmethod
    def around(cls, points: Sequence[Vectors]) -> "Box":
        """The box around all points; all directions keep their proportions."""
        every = np.concatenate(list(points))
        low = every.min(0)
        return cls(tuple(low.tolist()), float((every.max(0) - low).max()) or 1.0)

    def scaled(self, points: Vectors) -> Vectors:
        """The points in the units of the box."""
        return (points - np.array(self.low)) / self.span


@dataclass(frozen=True)
class PointSolver(Answering):
    """What `regard.load` returns for a pointer network."""

    model: PointerModel
    rule: PointingRule
    box: Box
    beam: int = 1
    """how many answers beam search follows; 1 is greedy"""
    problem: Any = field(default=None)
    """the problem of generated data; None for a user's own"""

    def solve(self, inputs: Sequence[Vectors], beam: int | None = None) -> list[list[PointedAnswer]]:
        """The best answers to each input [points, coordinates], the best first; each is valid."""
        width, found = len(self.box.low), list[list[PointedAnswer]]()
        for at, one in enumerate(inputs):
            if one.ndim != 2 or one.shape[1] != width or not len(one):
                raise UsageError(
                    f"solve: input {at} must be [points, {width}], with a point at least, but is {one.shape}"
                )
        device = next(self.model.parameters()).device
        self.model.eval()
        for first in range(0, len(inputs), _AT_ONCE):
            points, lengths = padded_rows([self.box.scaled(one) for one in inputs[first : first + _AT_ONCE]])
            found += point(self.model, points.to(device), lengths.to(device), self.rule, beam or self.beam)
        return found

    def looked_at(self, points: Vectors, positions: Sequence[int]) -> Float[Tensor, "steps choices"]:
        """What each step of an answer looked at: the probability of the end (first), and of every position."""
        scaled, _ = padded_rows([self.box.scaled(points)])
        self.model.eval()
        return looks(self.model, scaled.to(next(self.model.parameters()).device), tuple(positions), self.rule).cpu()

    def predict(self, lines: Sequence[str]) -> list[Prediction]:
        """The answer to each line, a JSON object with `points`; positions count from 0."""
        inputs = [
            points_in(object_in(line, f"line {at}"), f"line {at}", len(self.box.low))
            for at, line in enumerate(lines, start=1)
        ]
        best = [answers[0] for answers in self.solve(inputs)]
        return [
            Prediction(" ".join(map(str, one.positions)), {"answer": list(one.positions), "score": one.score})
            for one in best
        ]


def box_in(extras: Mapping[str, Any]) -> Box:
    """The box that a model file holds."""
    return Box(tuple(extras["box"]["low"]), float(extras["box"]["span"]))
