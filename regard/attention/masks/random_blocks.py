"""keep(i, j) = block of j is among the `count` that were drawn for the block of i

Zaheer et al., Big Bird, 2020, https://arxiv.org/abs/2007.14062: `Window(…) | GlobalTokens(…) | RandomBlocks(…)`.
"""

from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import ShapeError, check_at_least


@dataclass(frozen=True)
class RandomBlocks(Mask):
    """Each block of queries sees a few random blocks of keys, which follow from the seed."""

    size: int
    """positions in a block"""
    count: int
    """how many random blocks of keys each block of queries sees"""
    length: int
    """the longest sequence; blocks are drawn among those below it"""
    seed: int = 0
    """another seed draws other blocks"""

    def __post_init__(self) -> None:
        check_at_least("random_blocks", 1, size=self.size, length=self.length)
        check_at_least("random_blocks", 0, count=self.count)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        self._check(rows, columns)
        drawn = _draw(-(-self.length // self.size), self.count, self.seed).to(rows.device)
        return drawn[rows // self.size, columns // self.size]

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        self._check(rows.high, columns.high)
        counts = _counts(-(-self.length // self.size), self.count, self.seed).to(rows.low.device)
        (top, bottom), (left, right) = ((span.low // self.size, span.high // self.size + 1) for span in (rows, columns))
        drawn = counts[bottom, right] - counts[top, right] - counts[bottom, left] + counts[top, left]
        return Sight(drawn > 0, drawn == (bottom - top) * (right - left))

    def _check(self, rows: Tensor, columns: Tensor) -> None:
        for name, at in (("query", rows), ("key", columns)):
            if at.numel() and int(at.max()) >= self.length:
                raise ShapeError(f"random_blocks: a {name} stands at {int(at.max())}, beyond length={self.length}")


@cache
def _draw(blocks: int, count: int, seed: int) -> Tensor:
    """`count` different key blocks for each query block, [query block, key block]."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(blocks, blocks, generator=generator, dtype=torch.float64).argsort(-1)
    drawn = torch.zeros(blocks, blocks, dtype=torch.bool)
    return drawn.scatter(-1, order[:, :count], True)


@cache
def _counts(blocks: int, count: int, seed: int) -> Tensor:
    """The number of drawn blocks above and to the left of each corner, [query block + 1, key block + 1]."""
    return torch.nn.functional.pad(_draw(blocks, count, seed).long().cumsum(0).cumsum(1), (1, 0, 1, 0))
