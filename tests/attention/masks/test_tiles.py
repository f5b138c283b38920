import numpy as np
import pytest
import torch

from regard.attention.masks.tiles import Tiles
from regard.base.errors import ConfigError


@pytest.mark.parametrize(("size", "shift"), [(3, 0), (3, 1), (4, -2), (1, 0)])
def test_along_a_line(size: int, shift: int) -> None:
    expected = [[np.floor((i - shift) / size) == np.floor((j - shift) / size) for j in range(9)] for i in range(8)]
    assert np.array_equal(Tiles(size, shift)(torch.arange(8), torch.arange(9)).numpy(), expected)


@pytest.mark.parametrize("shift", [0, (1, 2)])
def test_on_a_grid(shift: int | tuple[int, int]) -> None:
    rows, columns = 4, 6
    down, right = (shift, shift) if isinstance(shift, int) else shift

    def tile(cell: int) -> tuple[int, int]:
        row, column = divmod(cell, columns)
        return (row - down) // 2, (column - right) // 3

    expected = [[tile(i) == tile(j) for j in range(rows * columns)] for i in range(rows * columns)]
    at = torch.arange(rows * columns)
    assert np.array_equal(Tiles((2, 3), shift, columns)(at, at).numpy(), expected)


def test_shifted_tiles_are_the_rolled_picture_with_its_mask() -> None:
    """Swin rolls the picture by the shift, cuts tiles, and keeps apart what the roll brought together."""
    side, size, shift = 8, 4, 2
    regions = np.zeros((side, side), dtype=int)
    bands = (slice(0, -size), slice(-size, -shift), slice(-shift, None))
    for number, (down, right) in enumerate((down, right) for down in bands for right in bands):
        regions[down, right] = number
    cells = np.roll(np.arange(side * side).reshape(side, side), (-shift, -shift), (0, 1))
    expected = np.zeros((side * side, side * side), dtype=bool)
    for top in range(0, side, size):
        for left in range(0, side, size):
            inside = cells[top : top + size, left : left + size].ravel()
            region = regions[top : top + size, left : left + size].ravel()
            expected[np.ix_(inside, inside)] = region[:, None] == region[None, :]
    at = torch.arange(side * side)
    assert np.array_equal(Tiles(size, shift, side)(at, at).numpy(), expected)


def test_a_tile_of_two_sides_needs_a_grid() -> None:
    with pytest.raises(ConfigError, match=r"tiles: size \(2, 3\) is of a grid, which needs columns=…"):
        Tiles((2, 3))
    with pytest.raises(ConfigError, match="tiles: width must be at least 1, but is 0"):
        Tiles((2, 0), columns=4)
