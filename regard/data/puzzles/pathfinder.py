"""Pathfinder: a picture with two dots and some paths, pixel by pixel; are the dots the ends of one path?

Linsley et al., 2018, https://arxiv.org/abs/1805.08315; as a sequence: Tay et al., Long Range Arena, 2021,
https://arxiv.org/abs/2011.04006. Paths here are walks on the grid that do not touch each other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import check_at_least
from regard.data.puzzle_rows import Puzzle

_EMPTY, _PATH, _DOT = 1, 2, 3
_STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))


@dataclass(frozen=True, kw_only=True)
class Pathfinder(Puzzle):
    """Tell whether two dots of a picture are connected by a path."""

    size: int = 12
    """rows and columns of the picture; the sequence has size² symbols"""
    steps: int = 10
    """the length of a path"""
    paths: int = 3
    """how many paths there are"""

    def __post_init__(self) -> None:
        check_at_least("pathfinder", 5, size=self.size)
        check_at_least("pathfinder", 2, paths=self.paths, steps=self.steps)

    @property
    def symbols(self) -> int:
        return 4

    @property
    def answers(self) -> int:
        return 2

    def draw(self, draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        picture = np.full((self.size, self.size), _EMPTY, dtype=np.int64)
        walks: list[list[tuple[int, int]]] = []
        for _ in range(20 * self.paths):
            walk = self._walk(draw, picture)
            if len(walks) < self.paths and len(walk) > 2:
                walks.append(walk)
                for place in walk:
                    picture[place] = _PATH
        connected = len(walks) < 2 or bool(draw.integers(2))
        first = walks[0]
        second = first if connected else walks[1]
        picture[first[0]], picture[second[-1]] = _DOT, _DOT
        return picture.flatten(), np.array(int(connected))

    def _walk(self, draw: np.random.Generator, picture: NDArray[np.int64]) -> list[tuple[int, int]]:
        """A path that touches no other and not itself; shorter where it gets stuck."""
        walk = [(int(draw.integers(self.size)), int(draw.integers(self.size)))]
        if not self._free(walk[0], picture, []):
            return []
        while len(walk) < self.steps:
            row, column = walk[-1]
            nexts = [(row + down, column + right) for down, right in _STEPS]
            open_ = [place for place in nexts if self._free(place, picture, walk)]
            if not open_:
                break
            walk.append(open_[int(draw.integers(len(open_)))])
        return walk

    def _free(self, place: tuple[int, int], picture: NDArray[np.int64], walk: list[tuple[int, int]]) -> bool:
        row, column = place
        if not (0 <= row < self.size and 0 <= column < self.size) or place in walk:
            return False
        around = picture[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
        touching = sum(abs(row - other) + abs(column - beside) == 1 for other, beside in walk)
        return bool((around == _EMPTY).all()) and touching <= 1
