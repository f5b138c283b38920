"""The maximum of numbers, each drawn uniformly from 0 to 100.

The first experiment of the Set Transformer: Lee et al., 2019, https://arxiv.org/abs/1810.00825, section 5.1
"""

from dataclasses import dataclass

import numpy as np

from regard.data.set_examples import SetExample
from regard.data.set_problem import DrawnPart, SetProblem


@dataclass(frozen=True)
class Maximum(SetProblem):
    """Sets of numbers from 0 to 100, and the largest of them; that of the empty set is 0."""

    def draw(self, draw: np.random.Generator, count: int, part: DrawnPart = "train") -> list[SetExample]:
        rows = [100 * draw.random((size, 1)) for size in self.sizes(draw, count)]
        return [SetExample(row, (float(row.max(initial=0.0)),)) for row in rows]
