"""keep(i, j) = ⌊(i - shift) / size⌋ = ⌊(j - shift) / size⌋, along each axis of the grid

Liu et al., Swin Transformer, 2021, https://arxiv.org/abs/2103.14030. There the image is rolled by the shift and
the mask keeps apart what the roll brought together; tiles that start at the shift, cut off at the border, are
the same partition.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from regard.attention.mask import Mask
from regard.attention.sight import Sight, Stretch
from regard.base.errors import ConfigError, check_at_least


@dataclass(frozen=True)
class Tiles(Mask):
    """Positions that lie in the same tile of a line, or of a grid that is numbered row by row."""

    size: int | tuple[int, int]
    """positions in a tile of a line, or rows and columns of a tile of a grid"""
    shift: int | tuple[int, int] = 0
    """by how much the tiles are moved, in a line or in rows and columns (shifted windows)"""
    columns: int | None = None
    """the width of the grid; by default there is none, but a line"""

    def __post_init__(self) -> None:
        if self.columns is None and isinstance(self.size, tuple):
            raise ConfigError(f"tiles: size {self.size} is of a grid, which needs columns=…, the grid's width")
        height, width = _pair(self.size)
        check_at_least("tiles", 1, height=height, width=width, columns=1 if self.columns is None else self.columns)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        (row, column), (other_row, other_column) = self._tile(rows), self._tile(columns)
        return (row == other_row) & (column == other_column)

    def sight(self, rows: Stretch, columns: Stretch) -> Sight:
        ((top, left), (bottom, right)), ((high, west), (low, east)) = (
            map(self._tile, span) for span in (rows, columns)
        )
        inside = self._in_row(rows) & self._in_row(columns)  # otherwise they go over the whole width of the grid
        some = (top <= low) & (high <= bottom) & ~(inside & ((left > east) | (west > right)))
        return Sight(some, inside & (top == high) & (left == right) & (west == east) & (left == west))

    def group(self, at: Tensor) -> Tensor:
        return torch.unique(torch.stack(self._tile(at)), dim=1, return_inverse=True)[1]

    def _tile(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """The tile row and tile column of a position."""
        (height, width), (down, right) = _pair(self.size), _pair(self.shift)
        if self.columns is None:
            return torch.zeros_like(at), (at - right) // width
        return (at // self.columns - down) // height, (at % self.columns - right) // width

    def _in_row(self, span: Stretch) -> Tensor:
        across = 1 if self.columns is None else self.columns
        return (span.low // across == span.high // across) | (self.columns is None)


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)
