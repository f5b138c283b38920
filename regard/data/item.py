"""What one step of training learns from: a batch of sentence pairs, a window of text, pictures, a graph.

The trainer knows nothing else of the data. A new kind of data is a class with these four members.
"""

from collections.abc import Iterator
from typing import Any, Protocol, Self, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Tensor

from regard.data.plan import BatchPosition


@runtime_checkable
class Item(Protocol):
    """A batch, of whatever kind."""

    @property
    def count(self) -> int:
        """What the loss is divided by: real tokens, images, nodes."""

    @property
    def size(self) -> int:
        """What is computed: as `count`, with the padding."""

    def to(self, device: torch.device | str) -> Self:
        """The same item on another device."""

    def shares(self, count: int) -> list[Self]:
        """At most `count` parts with about as much work each, none empty; `[self]` where rows do not part."""


@runtime_checkable
class Items(Protocol):
    """Where a trainer gets its items: each position always holds the same one."""

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Any]]:
        """Each position and its item from the given one on, without end."""


@runtime_checkable
class Batches(Items, Protocol):
    """Items of which any is reached at once."""

    def at(self, position: BatchPosition) -> Any:
        """The item at a position."""

    def epoch(self) -> tuple[int, int]:
        """How many items an epoch has, and the sum of their counts."""


def even_rows(sizes: Int64[Tensor, "batch"], count: int) -> list[Int64[Tensor, "rows"]]:
    """The numbers of the rows of each share: sorted by size, and cut where the sum reaches the next even part.

    Rows of like length go into the same share, which is then no wider than its own longest row: together the shares
    hold less padding than the batch did.
    """
    order = sizes.argsort(stable=True)
    before = sizes[order].cumsum(0) - sizes[order]
    share = before * count // sizes.sum().clamp(min=1)
    return [rows for rows in (order[share == number] for number in range(count)) if len(rows)]
