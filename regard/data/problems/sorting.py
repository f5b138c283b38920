"""Sorting: the positions of numbers from the smallest to the largest.

Vinyals et al., Order Matters, 2016, https://arxiv.org/abs/1511.06391
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regard.data.pointing import PointingRule
from regard.data.problem import AnswerArray, PointArray, Problem


@dataclass(frozen=True)
class Sorting(Problem):
    """Numbers between 0 and 1, to be sorted; of equal numbers the first comes first."""

    coordinates: ClassVar[int] = 1
    rule: ClassVar[PointingRule] = PointingRule("all_once")

    def solve(self, points: PointArray) -> AnswerArray:
        return np.argsort(points[:, :, 0], axis=1, kind="stable")
