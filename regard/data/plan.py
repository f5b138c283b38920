"""Batching by token budget: sentences of similar length together, in an order that (seed, epoch) alone decides.

Each epoch: shuffle the pairs, sort pools of them by length, cut the pools into batches that fit the budget, shuffle
the batches. Sorting keeps both sides similar (see `_bands`), since padding on either is wasted work. Nothing is
carried over from one epoch or batch to the next: the order is deterministic, any position is reached at once, and a
resumed run goes on exactly as an uninterrupted one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from regard.base.errors import RegardError, check_at_least, check_one_of
from regard.base.wording import counted

Counted = Literal["source", "target", "both"]
Shuffle = Literal["auto", "whole", "chunks"]
Lengths = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, order=True)
class BatchPosition:
    """A position in the data, which a checkpoint keeps: the epoch and the index of the batch in it."""

    epoch: int = 0
    index: int = 0

    def next(self, count: int) -> "BatchPosition":
        """The position after this one, in an epoch of `count` batches."""
        if self.index + 1 < count:
            return BatchPosition(epoch=self.epoch, index=self.index + 1)
        return BatchPosition(epoch=self.epoch + 1)


@dataclass(frozen=True, kw_only=True)
class BatchSettings:
    """Batch size: `tokens` bounds rows times longest row, padding included, of the counted side.

    `both` applies the budget to each of the two sides. Pairs with a side longer than `longest` tokens are skipped and
    counted; so are pairs that no batch can hold. `pool` is how many pairs are sorted at a time: more means less
    padding, fewer means more random batches.
    """

    tokens: int = 4_096
    """the batch size: the most tokens of the counted side, padding included"""
    counted: Counted = "target"
    """the side whose tokens are counted; both: each side by itself"""
    sentences: int | None = None
    """the most sentence pairs in a batch; none: no such limit"""
    longest: int | None = None
    """pairs with a side of more tokens are left out; none: no such limit"""
    pool: int = 100_000
    """how many pairs are sorted by length at a time: more means less padding, fewer means more random batches"""
    seed: int = 1
    """the seed of the order of the data"""
    shuffle: Shuffle = "auto"
    """how pairs are shuffled. whole: each by itself, with an index of all of them in memory; chunks: 256 neighbors
    together, then within each pool, which needs hardly any memory; auto: chunks for more than 8 million pairs"""

    def __post_init__(self) -> None:
        check_one_of("batches", get_args(Counted), counted=self.counted)
        check_one_of("batches", get_args(Shuffle), shuffle=self.shuffle)
        check_at_least("batches", 1, tokens=self.tokens, pool=self.pool)
        check_at_least("batches", 1, sentences=self.sentences or 1, longest=self.longest or 1)
        check_at_least("batches", 0, seed=self.seed)


@dataclass(frozen=True)
class Plan:
    """The batches of one epoch: `plan[i]` are the numbers of the pairs in batch i."""

    order: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of batches."""
        return len(self.starts)

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        if not 0 <= index < len(self):
            raise IndexError(f"batch {index} of {len(self)}")
        return self.order[self.starts[index] : self.ends[index]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True)
class WeightedPart:
    """Some of the pairs, such as those of one file, and how often an epoch has them."""

    start: int
    stop: int
    weight: float = 1.0


def whole_part(count: int) -> list[WeightedPart]:
    """All pairs, once an epoch."""
    return [WeightedPart(0, count)]


def draws_of(count: int, weight: float, draw: np.random.Generator) -> NDArray[np.int64]:
    """The numbers below `count`, each as often as the weight says; of a fraction, as many at random."""
    times = int(weight)
    rest = draw.permutation(count)[: round((weight - times) * count)] if weight > times else np.arange(0)
    return np.concatenate([np.tile(np.arange(count), times), rest])


class BatchPlan:
    """Groups pairs into batches by their lengths (`</s>` included); `parts` come as often as their weights say."""

    def __init__(
        self, source: Lengths, target: Lengths, settings: BatchSettings, parts: Sequence[WeightedPart] = ()
    ) -> None:
        if len(source) != len(target):
            raise RegardError(f"batches: {counted(len(source), 'source')} but {counted(len(target), 'target')}")
        self.settings = settings
        self._source, self._target = source, target
        cost = {"source": source, "target": target}.get(settings.counted)
        self._cost = np.maximum(source, target) if cost is None else cost
        too_long = np.maximum(source, target) > (settings.longest or np.iinfo(np.int32).max)
        over_budget = (self._cost > settings.tokens) & ~too_long
        self.too_long = int(too_long.sum())
        self.over_budget = int(over_budget.sum())
        self._usable = np.flatnonzero(~(too_long | over_budget)).astype(np.int32)
        self._parts = [part for part in parts if part.weight != 1.0] and parts
        self._latest: tuple[int, Plan] | None = None
        if not len(self._usable):
            raise RegardError(f"batches: none of the {counted(len(source), 'pair')} can be used; {self.report()}")

    def __len__(self) -> int:
        """The number of pairs in an epoch."""
        return len(self._usable)

    def report(self) -> str:
        """A sentence on how many pairs are left out of training and why; empty if none."""
        notes = []
        if self.too_long:
            length = counted(self.too_long, "pair is", "pairs are")
            notes.append(f"{length} longer than longest = {self.settings.longest:,} tokens")
        if self.over_budget:
            fits = counted(self.over_budget, "pair does", "pairs do")
            notes.append(f"{fits} not fit a batch of tokens = {self.settings.tokens:,}")
        return f"left out of training: {'; '.join(notes)}" if notes else ""

    def plan(self, epoch: int) -> Plan:
        """The batches of an epoch; the latest plan is cached."""
        if self._latest is None or self._latest[0] != epoch:
            self._latest = None
            self._latest = (epoch, self._make(epoch))
        return self._latest[1]

    def at(self, position: BatchPosition) -> NDArray[np.int32]:
        """The numbers of the pairs in the batch at a position."""
        plan = self.plan(position.epoch)
        if position.index >= len(plan):
            raise RegardError(
                f"batches: epoch {position.epoch} has {len(plan):,} batches, so there is no batch {position.index:,}; "
                "were the data or the settings changed since the position was taken?"
            )
        return plan[position.index]

    def after(self, position: BatchPosition) -> BatchPosition:
        """The position that follows."""
        return position.next(len(self.plan(position.epoch)))

    def walk(self, position: BatchPosition | None = None) -> Iterator[BatchPosition]:
        """The positions from the given one on, without end."""
        position = position or BatchPosition()
        while True:
            yield position
            position = self.after(position)

    def _make(self, epoch: int) -> Plan:
        draw = np.random.default_rng([self.settings.seed, epoch])
        order = self._weighted(draw) if self._parts else self._usable.copy()
        draw.shuffle(order)
        starts: list[int] = []
        for first in range(0, len(order), self.settings.pool):
            pool = order[first : first + self.settings.pool]
            pool[:] = pool[np.argsort(self._keys(pool), kind="stable")]
            starts += [first + start for start in self._cut(self._cost[pool])]
        bounds = np.array([*starts, len(order)], dtype=np.int64)
        shuffled = draw.permutation(len(starts))
        return Plan(order, bounds[shuffled], bounds[shuffled + 1])

    def _weighted(self, draw: np.random.Generator) -> NDArray[np.int32]:
        """The usable pairs of each part as often as its weight says."""
        found = []
        for part in self._parts:
            own = self._usable[slice(*np.searchsorted(self._usable, [part.start, part.stop]))]
            found.append(own[draws_of(len(own), part.weight, draw)])
        return np.concatenate(found)

    def epoch(self, target: Any) -> tuple[int, int]:
        """How many batches the first epoch has, and how many target tokens."""
        plan = self.plan(0)
        return len(plan), int(sum(target.lengths[chosen].sum() for chosen in plan))

    def _keys(self, pool: NDArray[np.int32]) -> NDArray[np.int64]:
        """Sort by the band of the counted length, then by the other side's length, then by the counted one.

        The latter two go up and down in turn, so that neighbors across a border are similar. Equal pairs keep their
        shuffled order.
        """
        other = self._target if self.settings.counted == "source" else self._source
        cost, second = self._cost[pool].astype(np.int64), other[pool].astype(np.int64)
        band = self._bands(cost)[cost]
        high, wide = int(cost.max()) + 1, int(second.max()) + 1
        inner = np.where(second % 2 == 0, cost, high - 1 - cost)
        return (band * wide + np.where(band % 2 == 0, second, wide - 1 - second)) * high + inner

    def _bands(self, cost: NDArray[np.int64]) -> NDArray[np.int64]:
        """A band for each length: similar lengths share a band, in which batches differ by the other side.

        Narrow bands mean little padding of the counted side and much of the other, wide bands the reverse. About as
        many batches per band as there are bands balances the two; a band wider than a tenth closes at a third of that.
        """
        tokens = np.bincount(cost) * np.arange(int(cost.max()) + 1)
        full = np.sqrt(tokens.sum() * self.settings.tokens)
        bands = np.zeros(len(tokens), dtype=np.int64)
        held, first, band = 0, 0, 0
        for length in np.flatnonzero(tokens):
            bands[length] = band
            held, first = held + int(tokens[length]), first or int(length)
            if held >= full or (3 * held >= full and length + 1 > 1.1 * first):
                held, first, band = 0, 0, band + 1
        return bands

    def _cut(self, cost: Lengths) -> list[int]:
        """The starts of batches: each takes as many pairs as fit."""
        budget, starts, start = self.settings.tokens, [], 0
        most = self.settings.sentences or budget
        rows = np.arange(1, min(most, len(cost), budget) + 1)
        while start < len(cost):
            starts.append(start)
            window = np.maximum.accumulate(cost[start : start + min(most, budget // int(cost[start]))])
            start += int(np.searchsorted(window * rows[: len(window)], budget, side="right"))
        return starts
