"""Several data sets in one run: each step has a batch of every set.

The first set is the main one: an epoch is once through it. In that epoch the others give the batches of their own epoch
of that number, from the first on; one with fewer batches begins again. So what stands at a position depends on the
position alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Protocol

import torch

from regard.data.item import Batches
from regard.data.plan import BatchPlan, BatchPosition


class PlannedBatches(Batches, Protocol):
    """Batches that know how many of them an epoch has."""

    @property
    def plan(self) -> BatchPlan:
        """The order of the examples."""


@dataclass(frozen=True)
class SeveralItems:
    """A batch of each set; `scales` makes up for sets that count differently: (Σ counts) / count of each whole batch.

    The sum of scale · loss over sets, divided by `count`, is the sum of the sets' mean losses.
    """

    items: Mapping[str, Any]
    scales: Mapping[str, float]

    @property
    def count(self) -> int:
        """The sum of the batches' counts."""
        return sum(item.count for item in self.items.values())

    @property
    def size(self) -> int:
        """The same with padding."""
        return sum(item.size for item in self.items.values())

    def to(self, device: torch.device | str) -> "SeveralItems":
        """The same batches on another device."""
        return replace(self, items={name: item.to(device) for name, item in self.items.items()})

    def shares(self, count: int) -> list["SeveralItems"]:
        """At most `count` parts, each with a part of every set's batch where there are enough."""
        parts = zip_longest(*(item.shares(count) for item in self.items.values()))
        named = ({name: part for name, part in zip(self.items, own, strict=True) if part is not None} for own in parts)
        return [SeveralItems(items, self.scales) for items in named]


def several_items(items: Mapping[str, Any]) -> SeveralItems:
    """The batches of one step."""
    whole = sum(item.count for item in items.values())
    return SeveralItems(items, {name: whole / max(1, item.count) for name, item in items.items()})


@dataclass(frozen=True)
class SeveralSets:
    """Sets by name, the main one first."""

    sets: Mapping[str, PlannedBatches]

    @property
    def main(self) -> PlannedBatches:
        """The set whose epochs count."""
        return next(iter(self.sets.values()))

    def at(self, position: BatchPosition) -> SeveralItems:
        """The batches at a position."""
        found = {}
        for name, batches in self.sets.items():
            there = position.index % len(batches.plan.plan(position.epoch))
            found[name] = batches.at(BatchPosition(epoch=position.epoch, index=there))
        return several_items(found)

    def walk(self, position: BatchPosition | None = None) -> Iterator[tuple[BatchPosition, SeveralItems]]:
        """Each position and its batches from the given one on, without end."""
        return ((at, self.at(at)) for at in self.main.plan.walk(position))

    def epoch(self) -> tuple[int, int]:
        """How many steps an epoch of the main set has, and what they count, about."""
        steps = self.main.epoch()[0]
        counts = [batches.epoch() for batches in self.sets.values()]
        return steps, round(sum(steps * count / max(1, own) for own, count in counts))
