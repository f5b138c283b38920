"""Copying: symbols at the beginning are to be written again at the end, after a long gap.

    a b c · · · · · · · · ? ? ?   →   a b c

Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; Arjovsky et al., 2016, https://arxiv.org/abs/1511.06464
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import ConfigError, check_at_least
from regard.data.puzzle_rows import UNASKED, AnswerKind, Puzzle


@dataclass(frozen=True, kw_only=True)
class CopyBack(Puzzle):
    """Write the first symbols again at the end."""

    length: int = 64
    """symbols in an example"""
    count: int = 8
    """how many are to be copied"""
    letters: int = 8
    """different symbols"""
    answer: ClassVar[AnswerKind] = "symbols"

    def __post_init__(self) -> None:
        check_at_least("copy_back", 1, count=self.count, letters=self.letters)
        if 2 * self.count > self.length:
            raise ConfigError(
                f"copy_back: {self.count} symbols and their copies need a length of {2 * self.count}, not {self.length}"
            )

    @property
    def symbols(self) -> int:
        return 3 + self.letters

    @property
    def answers(self) -> int:
        return self.letters

    def draw(self, draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        letters = draw.integers(0, self.letters, self.count)
        row = np.ones(self.length, dtype=np.int64)
        row[: self.count], row[-self.count :] = 3 + letters, 2
        wanted = np.full(self.length, UNASKED, dtype=np.int64)
        wanted[-self.count :] = letters
        return row, wanted
