"""The tiles of an attention call, and which of them are visible.

Queries and keys are cut into blocks. Masks tell from the first and last positions of blocks which tiles (a block of
queries times a block of keys) are hidden (`Mask.sight`). Blocks of queries that see equally many blocks of keys are
computed together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from regard.attention.call import Call
from regard.attention.mask import Mask, groups
from regard.attention.part import positions_of
from regard.attention.sight import Sight, Stretch

_WASTE = 32
"""one in this many tiles, and `_FEW` more, may be computed needlessly per bucket, so that there are few buckets"""
_FEW = 2


@dataclass(frozen=True, eq=False)
class Blocks:
    """Positions in blocks of equal size, the last one padded."""

    at: Int[Tensor, "*batch positions"]
    size: int
    order: Int[Tensor, "positions"] | None = None
    """a permutation of the positions; None: as they come"""

    @cached_property
    def index(self) -> Int[Tensor, "blocks size"]:
        """The indices of the positions in each block; padding repeats the last one."""
        length = self.at.shape[-1]
        places = torch.arange(-(-length // self.size) * self.size, device=self.at.device).clamp(max=length - 1)
        places = places if self.order is None else self.order[places]
        return places.unflatten(0, (-1, self.size))

    @cached_property
    def there(self) -> Bool[Tensor, "blocks size"]:
        """False at padding."""
        return torch.arange(self.index.numel(), device=self.at.device).view_as(self.index) < self.at.shape[-1]

    @cached_property
    def span(self) -> Stretch:
        """The first and the last position of each block, over the batch."""
        low, high = self.at[..., self.index].aminmax(dim=-1)
        return Stretch(low, high) if low.dim() == 1 else Stretch(low.amin(0), high.amax(0))


@dataclass(frozen=True, eq=False)
class Bucket:
    """Blocks of queries that see equally many blocks of keys."""

    rows: Int[Tensor, "blocks"]
    """the indices of the blocks of queries"""
    columns: Int[Tensor, "blocks count"]
    """the indices of the blocks of keys that each of them sees"""
    keep: Bool[Tensor, "*batch_heads blocks size keys"] | None
    """the mask of these keys for each query; None: all are visible"""


@dataclass(frozen=True, eq=False)
class Tiling:
    """The blocks of a call, and which tiles are visible."""

    masks: tuple[Mask, ...]
    queries: Blocks
    keys: Blocks
    sight: Sight

    @cached_property
    def share(self) -> float:
        """The share of tiles that is computed."""
        counts = self.sight.some.sum(1)
        if len(counts) == 1:
            return float(counts) / self.sight.some.numel()
        return float(_level(counts, _levels(counts)).sum()) / max(1, self.sight.some.numel())

    @cached_property
    def buckets(self) -> tuple[Bucket, ...]:
        """The blocks that are computed together. Blocks of queries that see nothing are in no bucket."""
        with torch.inference_mode(False):
            counts = self.sight.some.sum(1)
            order = self.sight.some.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
            levels = _levels(counts)
            level = _level(counts, levels)
            return tuple(self._bucket((level == size).nonzero()[:, 0], order, counts, size) for size in levels)

    def _bucket(self, rows: Tensor, order: Tensor, counts: Tensor, size: int) -> Bucket:
        columns = order[rows, :size]
        meant = torch.arange(size, device=rows.device) < counts[rows, None]
        there = self.keys.there[columns] & meant[..., None]
        if there.all() and self.sight.every[rows[:, None], columns].all():
            return Bucket(rows, columns, None)
        return Bucket(rows, columns, self._keep(rows, columns) & there.flatten(1)[:, None])

    def _keep(self, rows: Tensor, columns: Tensor) -> Tensor:
        """The masks for the pairs of these tiles, [*batch_heads, blocks, query, key]."""
        query_at = self.queries.at[..., self.queries.index[rows]].flatten(-2)[..., None]
        key_at = self.keys.at[..., self.keys.index[columns].flatten(1)]
        key_at = key_at.repeat_interleave(self.queries.size, dim=-2)
        if query_at.dim() + key_at.dim() > 4:  # positions with a batch axis: add an axis for the heads
            query_at, key_at = (side.reshape(-1, 1, *side.shape[-2:]) for side in (query_at, key_at))
        keep = torch.ones((), dtype=torch.bool, device=rows.device)
        for mask in self.masks:
            keep = keep & mask.forward(query_at, key_at)
        return keep.expand(*keep.shape[:-2], *key_at.shape[-2:]).unflatten(-2, (len(rows), -1))


def tiling(call: Call, query_block: int, key_block: int) -> Tiling:
    """Cut a call into blocks of these sizes. The tilings of fixed masks are cached."""
    if call.in_order and all(mask.fixed for mask in call.masks):
        lengths = call.query.shape[2], call.key.shape[2]
        return _fixed(call.masks, *lengths, query_block, key_block, call.query.device)
    if (query_block, key_block) not in call.notes:
        call.notes[query_block, key_block] = _best(call.masks, *call.places, query_block, key_block)
    found: Tiling = call.notes[query_block, key_block]
    return found


@lru_cache(maxsize=16)
def _fixed(
    masks: tuple[Mask, ...], queries: int, keys: int, query_block: int, key_block: int, device: torch.device
) -> Tiling:
    with torch.inference_mode(False):
        like = torch.empty(0, device=device)
        return _best(masks, positions_of(queries, like), positions_of(keys, like), query_block, key_block)


def _best(masks: tuple[Mask, ...], query_at: Tensor, key_at: Tensor, query_block: int, key_block: int) -> Tiling:
    """Positions as they come, or sorted by group: whichever hides more tiles."""
    plain = _cut(masks, Blocks(query_at, query_block), Blocks(key_at, key_block))
    if query_at.dim() > 1 or key_at.dim() > 1:
        return plain
    group = groups(masks, torch.cat([query_at, key_at]))
    if group is None:
        return plain
    parts = group.split([len(query_at), len(key_at)])
    queries = Blocks(query_at, query_block, parts[0].argsort(stable=True))
    keys = Blocks(key_at, key_block, parts[1].argsort(stable=True))
    rows, columns = (replace(side, at=part).span for side, part in zip((queries, keys), parts, strict=True))
    met = (rows.low[:, None] <= columns.high) & (columns.low <= rows.high[:, None])
    grouped = _cut(masks, queries, keys)
    return min(plain, replace(grouped, sight=grouped.sight & Sight(met, met)), key=lambda one: one.share)


def _cut(masks: tuple[Mask, ...], queries: Blocks, keys: Blocks) -> Tiling:
    rows, columns = Stretch(*(side[:, None] for side in queries.span)), Stretch(*(side[None] for side in keys.span))
    full = torch.ones(len(queries.index), len(keys.index), dtype=torch.bool, device=queries.at.device)
    sight = Sight(full, full)
    for mask in masks:
        sight = sight & mask.sight(rows, columns)
    return Tiling(masks, queries, keys, sight)


def _levels(counts: Tensor) -> list[int]:
    """The numbers of key blocks per bucket; query blocks that see fewer are rounded up."""
    found, times = counts[counts > 0].unique(return_counts=True)
    spare = int((found * times).sum()) // _WASTE + _FEW
    levels: list[int] = []
    waiting = wasted = last = 0
    for size, blocks in zip(found.tolist(), times.tolist(), strict=True):
        wasted += waiting * (size - last)
        if wasted > spare:
            levels.append(last)
            waiting = wasted = 0
        waiting, last = waiting + blocks, size
    return [*levels, last] if last else levels


def _level(counts: Tensor, levels: Sequence[int]) -> Tensor:
    """Round each count up to a level; 0 stays 0."""
    table = torch.tensor([0, *levels], device=counts.device)
    return table[torch.searchsorted(table, counts)]
