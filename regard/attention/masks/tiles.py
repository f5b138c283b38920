"""keep(i, j) = ⌊(i - shift) / size⌋ = ⌊(j - shift) / size⌋, along each axis of the grid

Liu et al., Swin Transformer, 2021, https://arxiv.org/abs/2103.14030. There the image is rolled by the shift and
the mask keeps apart what the roll brought together; tiles that start at the shift, cut off at the border, are
the same partition.
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.mask import Mask
from regard.base.errors import ConfigError, check_at_least


@dataclass(frozen=True)
class Tiles(Mask):
    """Positions that lie in the same tile of a line, or of a grid that is numbered row by row."""

    size: int | tuple[int, int]
    shift: int | tuple[int, int] = 0
    columns: int | None = None
    """how wide the grid is; a line unless set"""

    def __post_init__(self) -> None:
        if self.columns is None and isinstance(self.size, tuple):
            raise ConfigError(f"tiles: size {self.size} is of a grid, which needs columns=…, the grid's width")
        height, width = _pair(self.size)
        check_at_least("tiles", 1, height=height, width=width, columns=1 if self.columns is None else self.columns)

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        (height, width), (down, right) = _pair(self.size), _pair(self.shift)
        if self.columns is None:
            return (rows - right) // width == (columns - right) // width
        same_row = (rows // self.columns - down) // height == (columns // self.columns - down) // height
        same_column = (rows % self.columns - right) // width == (columns % self.columns - right) // width
        return same_row & same_column


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return size if isinstance(size, tuple) else (size, size)
