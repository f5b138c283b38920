"""A problem whose answer is a sequence of positions of its input, such as the points on a convex hull.

A problem is a value, one file in `problems/`: it draws inputs, solves them exactly, and says how good an answer is.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, check_at_least
from regard.data.pointing import PointingRule

PROBLEMS = Catalog("regard.data.problems")
PointArray = NDArray[np.float64]
"""[count, size, coordinates]"""
AnswerArray = NDArray[np.int64]
"""[count, steps]: positions from 0, and -1 after the end"""


@dataclass(frozen=True)
class Problem(ABC):
    """Inputs of `size` points, drawn uniformly from the unit cube."""

    size: int = 10
    """the number of points of an input"""
    smallest: int | None = None
    """if given, the number of points varies from this to `size`"""

    coordinates: ClassVar[int] = 2
    """the numbers that a point has"""
    rule: ClassVar[PointingRule]
    """which answers are valid"""
    fewest: ClassVar[int] = 1
    """the smallest input that has an answer"""
    most: ClassVar[int] = 1_000
    """the largest input that is solved exactly"""
    lower: ClassVar[frozenset[str]] = frozenset()
    """the scores for which lower is better"""

    def __post_init__(self) -> None:
        name, least = type(self).__name__.lower(), self.size if self.smallest is None else self.smallest
        check_at_least(name, self.fewest, size=self.size, smallest=least)
        if self.size > self.most:
            raise ConfigError(f"{name}: size must be at most {self.most}, but is {self.size}")
        if least > self.size:
            raise ConfigError(f"{name}: smallest ({least}) must be at most size ({self.size})")

    def draw(self, draw: np.random.Generator, count: int) -> PointArray:
        """So many inputs, all of one size."""
        size = self.size if self.smallest is None else int(draw.integers(self.smallest, self.size + 1))
        return draw.random((count, size, self.coordinates))

    @abstractmethod
    def solve(self, points: PointArray) -> AnswerArray:
        """The exact answer to each input, with a canonical start and direction."""

    def examples(self, draw: np.random.Generator, count: int) -> list[tuple[NDArray[np.float64], list[int]]]:
        """So many inputs with their answers."""
        points = self.draw(draw, count)
        return [(one, row[row >= 0].tolist()) for one, row in zip(points, self.solve(points), strict=True)]

    def scores(
        self, points: Sequence[NDArray[np.float64]], answers: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]
    ) -> dict[str, float]:
        """The mean scores of answers; `exact`, in percent, is common to all problems."""
        return {"exact": exact_share(answers, truth)}


def exact_share(answers: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> float:
    """How many answers are right in all steps, in percent."""
    right = [list(answer) == list(wanted) for answer, wanted in zip(answers, truth, strict=True)]
    return 100.0 * sum(right) / max(1, len(right))
