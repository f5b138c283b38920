"""The traveling salesman's tour: the shortest closed way through all points.

Exact tours by dynamic programming over subsets (Held and Karp, 1962; Bellman, 1962):

    d(S, j) = min over i in S of d(S - j, i) + |x_i - x_j|,    S without the first point, j in S

The canonical tour starts at the leftmost point and goes around counterclockwise (its polygon has a positive area).
As a task for pointer networks: Vinyals et al., 2015, https://arxiv.org/abs/1506.03134
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.data.pointing import PointingRule
from regard.data.problem import AnswerArray, PointArray, Problem
from regard.data.problems.hull import leftmost

_AT_ONCE = 2**23
"""numbers in a table of distances of subsets"""


@dataclass(frozen=True)
class Tour(Problem):
    """Points of the unit square, and the shortest tour through them, counterclockwise from the leftmost point."""

    rule: ClassVar[PointingRule] = PointingRule("all_once")
    fewest: ClassVar[int] = 3
    most: ClassVar[int] = 12
    lower: ClassVar[frozenset[str]] = frozenset({"length", "excess"})

    def solve(self, points: PointArray) -> AnswerArray:
        size = points.shape[1]
        each = max(1, _AT_ONCE // (2 ** (size - 1) * size))
        parts = [_shortest(points[first : first + each]) for first in range(0, len(points), each)]
        return canonical_tours(points, np.concatenate(parts))

    def scores(
        self, points: Sequence[NDArray[np.float64]], answers: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]
    ) -> dict[str, float]:
        """`length`: the mean length of the tours; `excess`: how much longer they are than the best, in percent."""
        found, best = (
            np.array([tour_length(own[list(tour)]) for own, tour in zip(points, tours, strict=True)])
            for tours in (answers, truth)
        )
        excess = 100 * float(found.mean() / best.mean() - 1)
        return super().scores(points, answers, truth) | {"length": float(found.mean()), "excess": excess}


def tour_length(corners: np.ndarray) -> float:
    """The length of the closed way through corners [size, 2]."""
    return float(np.linalg.norm(corners - np.roll(corners, -1, 0), axis=1).sum())


def canonical_tours(points: PointArray, tours: AnswerArray) -> AnswerArray:
    """The same tours from the leftmost point, counterclockwise."""
    size = points.shape[1]
    start = (tours == leftmost(points)[:, None]).argmax(1)
    tours = np.take_along_axis(tours, (start[:, None] + np.arange(size)) % size, 1)
    x, y = np.moveaxis(np.take_along_axis(points, tours[:, :, None], 1), 2, 0)
    clockwise = (x * np.roll(y, -1, 1) - np.roll(x, -1, 1) * y).sum(1) < 0
    back = np.concatenate((tours[:, :1], tours[:, :0:-1]), 1)
    return np.where(clockwise[:, None], back, tours)


@cache
def _subsets(count: int) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
    """For each size from 2 on: the pairs (subset S, last point j in S), S as bits, and S without j."""
    bits = np.arange(2**count)[:, None] >> np.arange(count) & 1
    sizes, found = bits.sum(1), []
    for size in range(2, count + 1):
        subsets = np.flatnonzero(sizes == size)
        at, last = np.nonzero(bits[subsets])
        found.append((subsets[at], last, subsets[at] - (1 << last)))
    return tuple(found)


def _shortest(points: PointArray) -> AnswerArray:
    """The shortest tours from point 0, by dynamic programming on all inputs at once."""
    batch, size = points.shape[:2]
    others = size - 1
    apart = np.linalg.norm(points[:, :, None] - points[:, None], axis=3)
    inner, home = apart[:, 1:, 1:], apart[:, 0, 1:]
    table, before = np.full((2**others, others, batch), np.inf), np.zeros((2**others, others, batch), dtype=np.int8)
    for at in range(others):
        table[1 << at, at] = home[:, at]
    steps = np.ascontiguousarray(inner.transpose(2, 1, 0))  # [to, from, batch]
    for subset, last, rest in _subsets(others):
        ways = table[rest] + steps[last]
        best = ways.argmin(1)
        before[subset, last] = best
        table[subset, last] = np.take_along_axis(ways, best[:, None], 1)[:, 0]
    rows, subset = np.arange(batch), np.full(batch, 2**others - 1)
    at, tours = (table[-1] + home.T).argmin(0), np.zeros((batch, size), dtype=np.int64)
    for place in range(others, 0, -1):
        tours[:, place] = at + 1
        subset, at = subset - (1 << at), before[subset, at, rows].astype(np.int64)
    return tours
