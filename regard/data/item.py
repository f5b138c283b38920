"""The interface of a training batch: sentence pairs, a window of text, pictures, a graph.

It is all that the trainer knows of the data. A new kind of data is a class with these four members.
"""

from collections.abc import Iterator
from typing import Any, Protocol, Self, runtime_checkable

import torch
from jaxtyping import Int64
from torch import Tensor

from regard.data.plan import BatchPosition


@runtime_checkable
class Item(Protocol):
    """A batch of any kind of data."""

    @property
    def count(self) -> int:
        """The number that the loss is divided by: tokens without padding, images, nodes."""

    @property
    def size(self) -> int:
        """The number that is computed: as `count`, with padding."""

    def to(self, device: torch.device | str) -> Self:
        """The batch on another device."""

    def shares(self, count: int) -> list[Self]:
        """Split the batch into at most `count` non-empty parts of about equal work; `[self]` if it cannot be split."""


@runtime_checkable
class Items(Protocol):
    """The data of a trainer: deterministic, so that each position always holds the same batch."""

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, Any]]:
        """Each position and its batch from the given one on, without end."""


@runtime_checkable
class Batches(Items, Protocol):
    """Training data with random access."""

    def at(self, position: BatchPosition) -> Any:
        """The batch at a position."""

    def epoch(self) -> tuple[int, int]:
        """How many batches an epoch has, and the sum of their counts."""


def even_rows(sizes: Int64[Tensor, "batch"], count: int) -> list[Int64[Tensor, "rows"]]:
    """The rows of each share: sorted by size, and cut where the sum reaches the next even part.

    Rows of like length go into the same share, which is then no wider than its own longest row: together the shares
    hold less padding than the batch did.
    """
    order = sizes.argsort(stable=True)
    before = sizes[order].cumsum(0) - sizes[order]
    share = before * count // sizes.sum().clamp(min=1)
    return [rows for rows in (order[share == number] for number in range(count)) if len(rows)]
