"""Batches of a corpus too large to keep an index of: chunks of neighbors are shuffled, then the pairs of a few chunks.

Each epoch: shuffle the numbers of all chunks, take as many chunks as make a pool, and batch the pairs of that pool by
length as `BatchPlan` does. A process holds one number for each chunk and the lengths of one pool, whatever the size of
the corpus. The order depends on (seed, epoch) alone, and any position is reached at once: its index holds the number of
the pool and that of the batch in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError
from regard.base.wording import counted
from regard.data.plan import BatchPlan, BatchPosition, BatchSettings, WeightedPart, draws_of, whole_part
from regard.data.store import Store, Tokens

NEIGHBORS = 256
"""neighboring pairs that are moved together"""
LARGE = 8_000_000
"""a corpus of more pairs is shuffled by chunks"""
_POOL = 1 << 32
_READ = 1 << 20


@dataclass(frozen=True)
class _Pool:
    """The pairs of one pool, and its batches as numbers within it."""

    pairs: NDArray[np.int64]
    batches: Sequence[NDArray[np.int32]]


class ChunkPlan:
    """Groups the pairs of a large store into batches."""

    def __init__(self, sides: Sequence[Tokens], settings: BatchSettings, parts: Sequence[WeightedPart] = ()) -> None:
        self.settings = settings
        self._sides = (sides[0], sides[-1])
        self._parts = list(parts) or whole_part(len(sides[0]))
        self._latest: tuple[tuple[int, int], _Pool] | None = None
        self._order: tuple[int, NDArray[np.int64]] | None = None
        self.too_long, self.over_budget = self._unusable()
        if self.too_long + self.over_budget >= len(sides[0]):
            raise RegardError(f"batches: none of the {counted(len(sides[0]), 'pair')} can be used; {self.report()}")

    def __len__(self) -> int:
        """The number of pairs that can be used."""
        return len(self._sides[0]) - self.too_long - self.over_budget

    def report(self) -> str:
        """A sentence on how many pairs are skipped and why; empty if none."""
        return BatchPlan.report(self)  # type: ignore[arg-type]

    def at(self, position: BatchPosition) -> NDArray[np.int64]:
        """The numbers of the pairs in the batch at a position."""
        pool = self._pool(position.epoch, position.index // _POOL)
        batch = position.index % _POOL
        if batch >= len(pool.batches):
            raise RegardError(
                f"batches: epoch {position.epoch} has no batch {batch:,} in part {position.index // _POOL:,}; were the "
                "data or the settings changed since the position was taken?"
            )
        return pool.pairs[pool.batches[batch]]

    def after(self, position: BatchPosition) -> BatchPosition:
        """The position that follows."""
        number = position.index // _POOL
        if position.index % _POOL + 1 < len(self._pool(position.epoch, number).batches):
            return replace(position, index=position.index + 1)
        return self._first(position.epoch, number + 1)

    def walk(self, position: BatchPosition | None = None) -> Iterator[BatchPosition]:
        """The positions from the given one on, without end."""
        position = position or self._first(0, 0)
        if position.index == 0:
            position = self._first(position.epoch, 0)
        while True:
            yield position
            position = self.after(position)

    def epoch(self, target: Tokens) -> tuple[int, int]:
        """About how many batches an epoch has, told by the first pool, and how many target tokens."""
        first = self._pool(0, self._first(0, 0).index // _POOL)
        taken = sum(len(batch) for batch in first.batches)
        pairs = sum((part.stop - part.start) * part.weight for part in self._parts)
        share = pairs / len(self._sides[0])
        return max(1, round(len(first.batches) * pairs / max(1, taken))), round(len(target.flat) * share)

    def _first(self, epoch: int, number: int) -> BatchPosition:
        """The first batch from the start of a pool on; pools without a pair that fits are passed over."""
        while True:
            if number >= self._pools(epoch):
                epoch, number = epoch + 1, 0
            if len(self._pool(epoch, number).batches):
                return BatchPosition(epoch=epoch, index=number * _POOL)
            number += 1

    def _pools(self, epoch: int) -> int:
        return -(-len(self._chunks(epoch)) // self._each())

    def _each(self) -> int:
        return max(1, self.settings.pool // NEIGHBORS)

    def _chunks(self, epoch: int) -> NDArray[np.int64]:
        """The first pair of each chunk, in the order of an epoch; a part may come several times, or not wholly."""
        if self._order is None or self._order[0] != epoch:
            draw = np.random.default_rng([self.settings.seed, epoch])
            starts = [np.arange(part.start, part.stop, NEIGHBORS) for part in self._parts]
            chosen = [own[draws_of(len(own), part.weight, draw)] for own, part in zip(starts, self._parts, strict=True)]
            self._order = (epoch, draw.permutation(np.concatenate(chosen)))
        return self._order[1]

    def _pool(self, epoch: int, number: int) -> _Pool:
        if self._latest is None or self._latest[0] != (epoch, number):
            each = self._each()
            firsts = self._chunks(epoch)[number * each : (number + 1) * each]
            stops = [min(int(first) + NEIGHBORS, self._end(int(first))) for first in firsts]
            spans = list(zip(map(int, firsts), stops, strict=True))
            pairs = np.concatenate([np.arange(start, stop) for start, stop in spans])
            source, target = (
                np.concatenate([side.lengths_of(start, stop) for start, stop in spans]) for side in self._sides
            )
            own = replace(self.settings, seed=hash((self.settings.seed, epoch, number)) % 2**63)
            try:
                batches = list(BatchPlan(source, target, own).plan(0))
            except RegardError:  # none of them fits
                batches = []
            self._latest = ((epoch, number), _Pool(pairs, batches))
        return self._latest[1]

    def _end(self, pair: int) -> int:
        return next(part.stop for part in self._parts if part.start <= pair < part.stop)

    def _unusable(self) -> tuple[int, int]:
        """How many pairs are longer than allowed, and how many no batch can hold; read in pieces."""
        too_long = over_budget = 0
        for start in range(0, len(self._sides[0]), _READ):
            stop = min(start + _READ, len(self._sides[0]))
            source, target = (side.lengths_of(start, stop) for side in self._sides)
            longer = np.maximum(source, target)
            cost = {"source": source, "target": target}.get(self.settings.counted, longer)
            long = longer > (self.settings.longest or np.iinfo(np.int32).max)
            too_long += int(long.sum())
            over_budget += int(((cost > self.settings.tokens) & ~long).sum())
        return too_long, over_budget


def plan_of(store: Store, settings: BatchSettings, parts: Sequence[WeightedPart] = ()) -> BatchPlan | ChunkPlan:
    """The batches of a store: by an index of all pairs, or by chunks where there are many."""
    by_chunks = settings.shuffle == "chunks" or (settings.shuffle == "auto" and len(store) > LARGE)
    if by_chunks:
        return ChunkPlan(store.sides, settings, parts)
    return BatchPlan(store.sides[0].lengths, store.sides[-1].lengths, settings, parts)
