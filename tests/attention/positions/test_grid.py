import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.positions.grid import Grid, GridTable, neighbor_bias
from regard.base.errors import ConfigError, ShapeError


def built(grid: Grid) -> GridTable:
    return grid.build(Sizes(width=8, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4))


def vectors(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(1, 2, length, 4), torch.randn(1, 2, length, 4)


def test_is_swins_index() -> None:
    rows, columns = 3, 4
    table, at = built(Grid(rows, columns)), torch.arange(12)
    bias = table(*vectors(12), at, at)
    assert table.weight.shape == (2, 5 * 7)
    for i in range(12):
        for j in range(12):
            down = i // columns - j // columns + rows - 1
            right = i % columns - j % columns + columns - 1
            assert torch.equal(bias[:, i, j], table.weight[:, down * (2 * columns - 1) + right])


def test_every_step_has_a_number_of_its_own() -> None:
    steps = Grid(3, 4).step(torch.arange(12), torch.arange(12))
    assert sorted(set(steps.flatten().tolist())) == list(range(35))


def test_within_a_larger_picture_tiles_are_alike_wherever_they_lie() -> None:
    tile = torch.tensor([0, 1, 6, 7])
    grid = Grid(2, 2, across=6)
    home = grid.step(tile, tile)
    for corner in (2, 4, 12, 16):
        assert torch.equal(grid.step(tile + corner, tile + corner), home)
    assert torch.equal(home, Grid(2, 2).step(torch.arange(4), torch.arange(4)))


def test_cells_past_the_end_are_refused() -> None:
    with pytest.raises(ShapeError, match="grid: a query stands at 12, but 3 rows of 4 end at 11"):
        built(Grid(3, 4))(*vectors(13), torch.arange(13), torch.arange(13))


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="grid: rows must be at least 1, but is 0"):
        Grid(0, 4)
    with pytest.raises(ConfigError, match="grid: across must be at least 4, but is 3"):
        Grid(2, 4, across=3)


def test_each_head_begins_with_a_neighbor_of_its_own() -> None:
    table, at = built(Grid(3, 4)), torch.arange(12)
    table.weight.data = neighbor_bias(2, table.layout, first=1)
    bias = table(*vectors(12), at, at)
    assert bias[0, 1].argmax() == 5  # head 0 takes neighbor 1: one row below
    assert bias[1, 5].argmax() == 4  # and head 1 the one on the left
    assert bias[0, 1, 5] == 0
    assert bias[0, 1, 4] == -1
    assert bias[0, 1, 11] == -(1 + 4)
    assert torch.equal(neighbor_bias(2, table.layout, first=9), table.weight)
