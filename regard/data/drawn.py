"""Training batches without an order of their own: drawn anew by a generator, or rows of a table in a shuffled order.

What stands at a position depends on the seed, the epoch and the index alone, so that a resumed run sees the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import check_at_least
from regard.data.plan import BatchPosition


@dataclass(frozen=True)
class DrawnBatches:
    """Generated data: no example comes twice. An epoch is only a number of batches."""

    make: Callable[[np.random.Generator, int], Any]
    """draws a batch of so many examples"""
    examples: int
    """the examples of an epoch"""
    batch: int
    """the examples of a batch"""
    seed: int = 1

    def __post_init__(self) -> None:
        check_at_least("data", 1, examples=self.examples, batch=self.batch)

    def at(self, position: BatchPosition) -> Any:
        """The batch at a position."""
        return self.make(np.random.default_rng([self.seed, position.epoch, position.index]), self.batch)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Any]]:
        """Each position and its batch from the given one on, without end."""
        position = position or BatchPosition()
        while True:
            yield position, self.at(position)
            position = position.next(self.epoch()[0])

    def epoch(self) -> tuple[int, int]:
        """How many batches and examples an epoch has."""
        batches = -(-self.examples // self.batch)
        return batches, batches * self.batch


@dataclass(frozen=True)
class ShuffledBatches:
    """Examples of a table, each once an epoch, in another order in every epoch."""

    pick: Callable[[NDArray[np.int64], np.random.Generator], Any]
    """makes a batch of the examples with these numbers; the generator is for what is drawn anew, such as noise"""
    examples: int
    """how many examples there are"""
    batch: int
    """the examples of a batch"""
    seed: int = 1

    def __post_init__(self) -> None:
        check_at_least("data", 1, examples=self.examples, batch=self.batch)

    def at(self, position: BatchPosition) -> Any:
        """The batch at a position."""
        order = np.random.default_rng([self.seed, position.epoch]).permutation(self.examples)
        draw = np.random.default_rng([self.seed, position.epoch, position.index, 1])
        return self.pick(order[position.index * self.batch :][: self.batch], draw)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Any]]:
        """Each position and its batch from the given one on, without end."""
        position = position or BatchPosition()
        while True:
            yield position, self.at(position)
            position = position.next(self.epoch()[0])

    def epoch(self) -> tuple[int, int]:
        """How many batches and examples an epoch has."""
        return -(-self.examples // self.batch), self.examples

    def in_order(self) -> list[Any]:
        """All examples in their own order, in batches: a validation set."""
        numbers, draw = np.arange(self.examples), np.random.default_rng([self.seed, 0])
        return [self.pick(numbers[first : first + self.batch], draw) for first in range(0, self.examples, self.batch)]
