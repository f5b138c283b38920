"""Associative recall: pairs of key and value, then a key; the answer is its value.

    · k₃ v₁ · · k₁ v₄ · … k₃ ?   →   v₁

Graves et al., Neural Turing Machines, 2014, https://arxiv.org/abs/1410.5401; among many symbols that do not matter, as
in Arora et al., Zoology, 2023, https://arxiv.org/abs/2312.04927.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import ConfigError, check_at_least
from regard.data.puzzle_rows import Puzzle


@dataclass(frozen=True, kw_only=True)
class Recall(Puzzle):
    """Find the value of a key among pairs of keys and values."""

    length: int = 64
    """symbols in an example"""
    pairs: int = 8
    """pairs of key and value in it; the rest is filler"""
    keys: int = 16
    """different keys, and as many values"""

    def __post_init__(self) -> None:
        check_at_least("recall", 1, pairs=self.pairs)
        check_at_least("recall", self.pairs, keys=self.keys)
        if 2 * self.pairs + 1 > self.length:
            raise ConfigError(
                f"recall: {self.pairs} pairs and a question need a length of {2 * self.pairs + 1}, not {self.length}"
            )

    @property
    def symbols(self) -> int:
        return 2 + 2 * self.keys

    @property
    def answers(self) -> int:
        return self.keys

    def draw(self, draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        row = np.ones(self.length, dtype=np.int64)
        keys = draw.permutation(self.keys)[: self.pairs]
        values = draw.integers(0, self.keys, self.pairs)
        places = np.sort(draw.permutation((self.length - 1) // 2)[: self.pairs]) * 2
        row[places], row[places + 1] = 2 + keys, 2 + self.keys + values
        asked = int(draw.integers(self.pairs))
        row[-1] = 2 + keys[asked]
        return row, np.array(values[asked])
