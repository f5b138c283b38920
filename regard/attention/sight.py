"""What is seen of tiles: blocks of queries against blocks of keys, asked without looking at every pair.

A mask tells it from the first and the last position of the blocks. So a backend computes the tiles that hold something
and skips the others.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

_PAIRS = 1 << 22
"""how many pairs are looked at, at most, where a mask tells nothing by itself"""


class Stretch(NamedTuple):
    """Positions from `low` to `high`, both included: those of each block of queries, or of each block of keys."""

    low: Int[Tensor, "*blocks"]
    high: Int[Tensor, "*blocks"]


class Sight(NamedTuple):
    """What is known of each tile. It may be too careful, but what it says is true."""

    some: Bool[Tensor, "*tiles"]
    """False: no query of the tile may look at any key of it"""
    every: Bool[Tensor, "*tiles"]
    """True: all of them may look at all"""

    def __and__(self, other: "Sight") -> "Sight":
        return Sight(self.some & other.some, self.every & other.every)

    def __or__(self, other: "Sight") -> "Sight":
        return Sight(self.some | other.some, self.every | other.every)

    def __invert__(self) -> "Sight":
        return Sight(~self.every, ~self.some)


def look_at_all(mask: Callable[[Tensor, Tensor], Tensor], rows: Stretch, columns: Stretch) -> Sight:
    """The sight of a mask that is asked about every position; where that were too many, nothing is claimed."""
    queries, keys = (_positions(span) for span in (rows, columns))
    shape = torch.broadcast_shapes(rows.low.shape, columns.low.shape)
    if queries.numel() * keys.numel() > _PAIRS or rows.low.shape[1:] != (1,) or columns.low.shape[:-1] != (1,):
        return Sight(queries.new_ones(shape, dtype=torch.bool), queries.new_zeros(shape, dtype=torch.bool))
    keep = mask(queries.flatten(), keys.flatten()).unflatten(-1, keys.shape).unflatten(-3, queries.shape)
    keep = keep.flatten(0, -5) if keep.dim() > 4 else keep[None]  # for all of the batch and the heads
    return Sight(keep.any(0).any(1).any(-1), keep.all(0).all(1).all(-1))


def _positions(span: Stretch) -> Int[Tensor, "blocks positions"]:
    """The positions of each span; those of shorter ones are filled up with their last."""
    low, high = span.low.flatten()[:, None], span.high.flatten()[:, None]
    longest = int((high - low).max()) + 1 if low.numel() else 0
    return torch.minimum(low + torch.arange(longest, device=low.device), high)
