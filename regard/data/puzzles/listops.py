"""ListOps: the value of a nested list of operations on digits.

    [MAX 2 9 [MIN 4 7 ] 0 ]   →   9

Nangia and Bowman, 2018, https://arxiv.org/abs/1804.06028; as a long sequence: Tay et al., Long Range Arena, 2021,
https://arxiv.org/abs/2011.04006. MED is the median (rounded down), SUM is modulo 10.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import check_at_least
from regard.data.puzzle_rows import Puzzle

OPERATIONS: tuple[Callable[[Sequence[int]], int], ...] = (
    min,
    max,
    lambda values: int(np.median(values)),
    lambda values: sum(values) % 10,
)
_DIGIT, _OPEN, _CLOSE = 1, 11, 15


@dataclass(frozen=True, kw_only=True)
class Listops(Puzzle):
    """Compute nested minima, maxima, medians and sums of digits."""

    length: int = 128
    """the most symbols in an example"""
    depth: int = 3
    """how deep lists are nested"""
    arguments: int = 5
    """the most arguments of an operation"""

    def __post_init__(self) -> None:
        check_at_least("listops", 1, depth=self.depth)
        check_at_least("listops", 2, arguments=self.arguments)
        check_at_least("listops", 4, length=self.length)

    @property
    def symbols(self) -> int:
        return _CLOSE + 1

    @property
    def answers(self) -> int:
        return 10

    def draw(self, draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        row, value = self._list(draw, self.depth, self.length)
        return np.array(row, dtype=np.int64), np.array(value)

    def _list(self, draw: np.random.Generator, depth: int, room: int) -> tuple[list[int], int]:
        """An operation of at most so many symbols, and its value."""
        operation = int(draw.integers(len(OPERATIONS)))
        row, values, left = [_OPEN + operation], list[int](), room - 2
        wanted = min(left, int(draw.integers(2, self.arguments + 1)))
        for number in range(wanted):
            spare = left - (wanted - number - 1)
            if depth > 1 and spare >= 4 and draw.random() < 0.6:
                inner, value = self._list(draw, depth - 1, max(4, spare // 2) if spare >= 8 else spare)
            else:
                value = int(draw.integers(10))
                inner = [_DIGIT + value]
            row, left = row + inner, left - len(inner)
            values.append(value)
        return [*row, _CLOSE], OPERATIONS[operation](values)
