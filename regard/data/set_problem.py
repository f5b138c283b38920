"""A problem about sets whose examples are generated: one file each in `set_problems/`."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Literal

import numpy as np

from regard.base.catalog import Catalog
from regard.base.errors import ConfigError, RegardError, check_at_least
from regard.base.extras import install_hint
from regard.data.set_examples import SetExample

SET_PROBLEMS = Catalog("regard.data.set_problems")
SetGoal = Literal["number", "count", "class", "clusters"]
DrawnPart = Literal["train", "dev"]
_HELD_OUT = 5
"""every fifth picture is for validation alone"""


@dataclass(frozen=True)
class SetProblem(ABC):
    """Sets of `smallest` to `size` elements."""

    size: int = 10
    """the most elements of a set"""
    smallest: int = 1
    """the fewest elements of a set"""

    goal: ClassVar[SetGoal] = "number"
    """what is learned about a set"""

    def __post_init__(self) -> None:
        name = type(self).__module__.rpartition(".")[2]
        check_at_least(name, 0, smallest=self.smallest)
        check_at_least(name, 1, size=self.size)
        if self.smallest > self.size:
            raise ConfigError(f"{name}: smallest ({self.smallest}) must be at most size ({self.size})")

    @abstractmethod
    def draw(self, draw: np.random.Generator, count: int, part: DrawnPart = "train") -> list[SetExample]:
        """So many examples; what they are made of is not the same in training and validation."""

    def sizes(self, draw: np.random.Generator, count: int) -> list[int]:
        """The sizes of so many sets."""
        return draw.integers(self.smallest, self.size + 1, count).tolist()


@cache
def digit_pictures(part: DrawnPart) -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's 1,797 handwritten digits of 8 × 8 pixels, as rows of 64 numbers from 0 to 1, and what they are."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise RegardError(f"digits: the pictures come with scikit-learn: {install_hint('represent')}") from error
    found = load_digits()
    held = np.arange(len(found.target)) % _HELD_OUT == 0
    chosen = held if part == "dev" else ~held
    return found.data[chosen] / 16.0, found.target[chosen]
