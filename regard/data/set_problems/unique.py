"""How many different elements a set has. Lee et al., 2019, https://arxiv.org/abs/1810.00825, section 5.2"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from regard.data.set_examples import SetExample
from regard.data.set_problem import DrawnPart, SetGoal, SetProblem, digit_pictures


@dataclass(frozen=True)
class Unique(SetProblem):
    """Sets of handwritten digits, pictures of 8 × 8 pixels from scikit-learn, and how many different digits they show.

    First the number of different digits is drawn, then the digits: so all numbers are equally frequent.
    """

    smallest: int = 6
    goal: ClassVar[SetGoal] = "count"

    def draw(self, draw: np.random.Generator, count: int, part: DrawnPart = "train") -> list[SetExample]:
        pictures, digits = digit_pictures(part)
        places = [np.flatnonzero(digits == digit) for digit in range(10)]
        found = []
        for size in self.sizes(draw, count):
            different = int(draw.integers(1, min(size, 10) + 1)) if size else 0
            kinds = draw.permutation(10)[:different]
            shown = np.concatenate((kinds, draw.choice(kinds, size - different))) if size else kinds
            rows = [int(draw.choice(places[digit])) for digit in draw.permutation(shown)]
            found.append(SetExample(pictures[rows].reshape(-1, pictures.shape[1]), (float(different),)))
        return found
