"""The sum of digits that are given as pictures. Zaheer et al., 2017, https://arxiv.org/abs/1703.06114, section 4.1"""

from dataclasses import dataclass

import numpy as np

from regard.data.set_examples import SetExample
from regard.data.set_problem import DrawnPart, SetProblem, digit_pictures


@dataclass(frozen=True)
class DigitSum(SetProblem):
    """Sets of handwritten digits, pictures of 8 × 8 pixels from scikit-learn, and their sum."""

    def draw(self, draw: np.random.Generator, count: int, part: DrawnPart = "train") -> list[SetExample]:
        pictures, digits = digit_pictures(part)
        chosen = [draw.integers(0, len(digits), size) for size in self.sizes(draw, count)]
        return [SetExample(pictures[rows], (float(digits[rows].sum()),)) for rows in chosen]
