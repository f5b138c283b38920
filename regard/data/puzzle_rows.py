"""A puzzle is a generated task that needs attention over a length: examples without end, from a seed, with dials.

One file each in `puzzles/`. An example is a row of symbols, and its answer one class, or a symbol at some of its
positions.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from jaxtyping import Int64
from numpy.typing import NDArray
from torch import Tensor

from regard.base.catalog import Catalog
from regard.data.item import even_rows
from regard.data.plan import BatchPosition

PUZZLES = Catalog("regard.data.puzzles")
UNASKED = -1
"""stands for the answer where none is asked for"""
AnswerKind = Literal["class", "symbols"]


@dataclass(frozen=True)
class PuzzleBatch:
    """Examples side by side; symbol 0 is padding."""

    tokens: Int64[Tensor, "batch length"]
    lengths: Int64[Tensor, "batch"]
    wanted: Int64[Tensor, "batch *positions"]
    """the class of each example, or the answer at each position; -1 where none is asked for"""

    @property
    def count(self) -> int:
        """The number of answers that are asked for."""
        return int((self.wanted != UNASKED).sum())

    @property
    def size(self) -> int:
        """The same with padding."""
        return self.wanted.numel()

    def to(self, device: torch.device | str) -> "PuzzleBatch":
        """The same batch on another device."""
        return PuzzleBatch(*(part.to(device, non_blocking=True) for part in vars(self).values()))

    def shares(self, count: int) -> list["PuzzleBatch"]:
        """At most `count` batches with about as many symbols each."""
        return [PuzzleBatch(*(part[rows] for part in vars(self).values())) for rows in even_rows(self.lengths, count)]


class Puzzle(ABC):
    """The settings of a puzzle; they say how hard it is."""

    answer: ClassVar[AnswerKind] = "class"
    """class: one answer for each example; symbols: one at some of its positions"""

    @property
    @abstractmethod
    def symbols(self) -> int:
        """How many symbols there are, padding (0) included."""

    @property
    @abstractmethod
    def answers(self) -> int:
        """How many answers there are to choose from."""

    @abstractmethod
    def draw(self, draw: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """One example: its symbols, and its class or the answer at each position."""

    def found_in(self, folder: Path) -> Self:
        """The puzzle with file names that start at `folder`; most need no files."""
        return self

    def batch(self, count: int, *numbers: int) -> PuzzleBatch:
        """`count` examples that follow from the numbers alone."""
        draw = np.random.default_rng(numbers)
        found = [self.draw(draw) for _ in range(count)]
        lengths = torch.tensor([len(symbols) for symbols, _ in found])
        tokens = torch.zeros(count, int(lengths.max()), dtype=torch.int64)
        wanted = torch.full(tokens.shape if self.answer == "symbols" else (count,), UNASKED)
        for row, (symbols, answer) in enumerate(found):
            tokens[row, : len(symbols)] = torch.from_numpy(symbols)
            if self.answer == "symbols":
                wanted[row, : len(answer)] = torch.from_numpy(answer)
            else:
                wanted[row] = int(answer)
        return PuzzleBatch(tokens, lengths, wanted)


@dataclass(frozen=True)
class PuzzleBatches:
    """Batches without end, each drawn from its position alone."""

    puzzle: Puzzle
    rows: int
    seed: int
    each: int = 1000
    """the batches that count as an epoch"""

    def at(self, position: BatchPosition) -> PuzzleBatch:
        """The batch at a position."""
        return self.puzzle.batch(self.rows, self.seed, position.epoch, position.index)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, PuzzleBatch]]:
        """Each position and its batch from the given one on, without end."""
        position = position or BatchPosition()
        while True:
            yield position, self.at(position)
            position = position.next(self.each)

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and about how many answers are asked for in it."""
        return self.each, self.each * self.puzzle.batch(self.rows, self.seed).count
