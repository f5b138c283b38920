"""Which tiles (a block of queries times a block of keys) a mask hides or shows as a whole.

A mask tells it from the first and the last position of the blocks, without computing every pair. So a backend
computes the visible tiles and skips the others.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

_PAIRS = 1 << 22
"""the largest number of pairs to compute for a mask that has no `sight` of its own"""


class Stretch(NamedTuple):
    """The range of positions of each block, from `low` to `high` inclusive."""

    low: Int[Tensor, "*blocks"]
    high: Int[Tensor, "*blocks"]


class Sight(NamedTuple):
    """What is known of each tile: a safe bound, which may call a tile mixed that is not."""

    some: Bool[Tensor, "*tiles"]
    """False: the tile is hidden; no query of it may attend to any of its keys"""
    every: Bool[Tensor, "*tiles"]
    """True: the tile is fully visible"""

    def __and__(self, other: "Sight") -> "Sight":
        return Sight(self.some & other.some, self.every & other.every)

    def __or__(self, other: "Sight") -> "Sight":
        return Sight(self.some | other.some, self.every | other.every)

    def __invert__(self) -> "Sight":
        return Sight(~self.every, ~self.some)


def look_at_all(mask: Callable[[Tensor, Tensor], Tensor], rows: Stretch, columns: Stretch) -> Sight:
    """The sight of a mask from all pairs of positions; if there are too many, all tiles count as mixed."""
    queries, keys = (_positions(span) for span in (rows, columns))
    shape = torch.broadcast_shapes(rows.low.shape, columns.low.shape)
    if queries.numel() * keys.numel() > _PAIRS or rows.low.shape[1:] != (1,) or columns.low.shape[:-1] != (1,):
        return Sight(queries.new_ones(shape, dtype=torch.bool), queries.new_zeros(shape, dtype=torch.bool))
    keep = mask(queries.flatten(), keys.flatten()).unflatten(-1, keys.shape).unflatten(-3, queries.shape)
    keep = keep.flatten(0, -5) if keep.dim() > 4 else keep[None]  # over batch and heads
    return Sight(keep.any(0).any(1).any(-1), keep.all(0).all(1).all(-1))


def _positions(span: Stretch) -> Int[Tensor, "blocks positions"]:
    """The positions of each block; shorter ones are padded with their last."""
    low, high = span.low.flatten()[:, None], span.high.flatten()[:, None]
    longest = int((high - low).max()) + 1 if low.numel() else 0
    return torch.minimum(low + torch.arange(longest, device=low.device), high)
