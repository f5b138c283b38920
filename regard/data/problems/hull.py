"""Convex hull: the points on the boundary of the smallest convex set around all of them.

The canonical answer starts at the leftmost point (the lowest of several) and goes around counterclockwise; points in
the middle of an edge are left out. It is found by gift wrapping (Jarvis, 1973). As a task for pointer networks:
Vinyals et al., 2015, https://arxiv.org/abs/1506.03134
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.data.pointing import PointingRule
from regard.data.problem import AnswerArray, PointArray, Problem


@dataclass(frozen=True)
class Hull(Problem):
    """Points of the unit square, and their convex hull, counterclockwise from the leftmost point."""

    rule: ClassVar[PointingRule] = PointingRule("at_most_once", fewest=3)
    fewest: ClassVar[int] = 3

    def solve(self, points: PointArray) -> AnswerArray:
        rows, first = np.arange(len(points)), leftmost(points)
        answers, here, going = np.full(points.shape[:2], -1), first.copy(), np.ones(len(points), dtype=bool)
        for step in range(points.shape[1]):
            answers[going, step] = here[going]
            best = (here + 1) % points.shape[1]
            for other in range(points.shape[1]):
                to_best, to_other = (
                    points[rows, end] - points[rows, here] for end in (best, np.full_like(best, other))
                )
                turn = _cross(to_best, to_other)
                farther = (to_other**2).sum(1) > (to_best**2).sum(1)
                best = np.where((turn < 0) | ((turn == 0) & farther), other, best)
            here = best
            going &= here != first
        return answers

    def scores(
        self, points: Sequence[NDArray[np.float64]], answers: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]
    ) -> dict[str, float]:
        """`area`: how much of the hull's area the polygon of an answer covers, in percent."""
        covered = [
            polygon_area(own[list(answer)]) / polygon_area(own[list(wanted)])
            for own, answer, wanted in zip(points, answers, truth, strict=True)
        ]
        return super().scores(points, answers, truth) | {"area": 100 * float(np.mean(covered))}


def leftmost(points: PointArray) -> np.ndarray:
    """The number of the leftmost point of each input, and of the lowest where there are several."""
    left = points[:, :, 0] == points[:, :, 0].min(1, keepdims=True)
    return np.where(left, points[:, :, 1], np.inf).argmin(1)


def polygon_area(corners: np.ndarray) -> float:
    """The area of a polygon [corners, 2] by the shoelace formula; parts that are gone around in turns cancel."""
    return abs(float(_cross(corners, np.roll(corners, -1, 0)).sum())) / 2


def _cross(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The cross product of vectors in the plane; it is positive for a turn to the left."""
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]
