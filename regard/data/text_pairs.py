"""Pairs of texts that mean the same, each text framed by itself: what sentence vectors are learned from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from regard.data.framed import FramedTexts, batch_of
from regard.data.plan import BatchPlan, BatchPosition

FramedRow = tuple[Sequence[int], Sequence[int]]
"""the tokens and segments of a text"""


@dataclass(frozen=True)
class TextPairs:
    """A batch of pairs; the second text of each is to be found among all second texts of the batch."""

    first: FramedTexts
    second: FramedTexts

    @property
    def count(self) -> int:
        """The number of pairs."""
        return len(self.first.lengths)

    @property
    def size(self) -> int:
        """The number of pairs; none of them is padding."""
        return self.count

    def to(self, device: torch.device | str) -> "TextPairs":
        """The same batch on another device."""
        return TextPairs(self.first.to(device), self.second.to(device))

    def shares(self, count: int) -> list["TextPairs"]:
        """The batch as it is: every pair is compared with all others."""
        return [self]


@dataclass(frozen=True)
class PairRows:
    """Encoded pairs, in batches of similar length."""

    first: Sequence[FramedRow]
    second: Sequence[FramedRow]
    plan: BatchPlan

    def at(self, position: BatchPosition) -> TextPairs:
        """The batch at a position."""
        return self._of(self.plan.at(position).tolist())

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, TextPairs]]:
        """Each position and its batch from the given one on, without end."""
        return ((at, self.at(at)) for at in self.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many batches the first epoch has, and how many pairs."""
        return len(self.plan.plan(0)), len(self.plan)

    def all(self) -> list[TextPairs]:
        """Every pair once, in the batches of the first epoch."""
        return [self._of(chosen.tolist()) for chosen in self.plan.plan(0)]

    def _of(self, chosen: Sequence[int]) -> TextPairs:
        return TextPairs(batch_of([self.first[at] for at in chosen]), batch_of([self.second[at] for at in chosen]))
