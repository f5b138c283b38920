"""Attention in tiles against plain attention over the whole picture under the mask of tiles."""

import pytest
import torch

from regard.attention.masks.tiles import Tiles
from regard.attention.multihead import Attention
from regard.attention.positions.grid import Grid
from regard.base.errors import CombinationError
from regard.layers.tiled_attention import TiledAttention, TiledMixing


def layer(**settings: int) -> TiledMixing:
    torch.manual_seed(1)
    made = TiledAttention(**settings, attention=Attention(heads=2)).build(8).double()
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return made


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_it_is_masked_attention_over_the_whole_picture(shift: int) -> None:
    tiled = layer(rows=6, columns=9, size=3, shift=shift)
    mask, positions = Tiles(3, shift, columns=9), Grid(3, 3, across=9)
    whole = Attention(heads=2, mask=mask, positions=positions).build(8).double()
    whole.load_state_dict(tiled.attention.state_dict())
    x = torch.randn(2, 54, 8).double()
    torch.testing.assert_close(tiled(x), whole(x), atol=1e-12, rtol=0)


def test_a_grid_of_another_size_is_filled_up_and_cut_again() -> None:
    tiled, wider = layer(rows=5, columns=4, size=3, shift=1), layer(rows=6, columns=6, size=3, shift=1)
    x = torch.randn(2, 5, 4, 8).double()
    filled = torch.nn.functional.pad(x, (0, 0, 0, 2, 0, 1))
    expected = wider(filled.flatten(1, 2)).unflatten(1, (6, 6))[:, :5, :4]
    torch.testing.assert_close(tiled(x.flatten(1, 2)).unflatten(1, (5, 4)), expected)


def test_a_small_grid_is_one_tile_without_a_shift() -> None:
    design = TiledAttention(rows=2, columns=6, size=4, shift=2)
    assert (design.size, design.shift) == (2, 0)


def test_cells_tell_what_stands_in_each_slot() -> None:
    made = layer(rows=5, columns=4, size=3, shift=1)
    cells = made.cells()
    assert list(cells.shape) == [4, 9]
    assert sorted(cells.flatten().tolist()) == [-1] * 16 + list(range(20))
    assert cells[0].tolist() == [5, 6, 7, 9, 10, 11, 13, 14, 15]
    assert cells[3].tolist() == [-1, -1, 16, -1, -1, -1, -1, -1, 0]


def test_pictures_are_not_read_step_by_step() -> None:
    made = layer(rows=2, columns=2, size=2)
    with pytest.raises(CombinationError, match="pictures are seen at once"):
        made.start()
    with pytest.raises(CombinationError, match="takes no further mask"):
        made(torch.randn(1, 4, 8).double(), keep=torch.ones(1, 1, 1, 4).bool())
    with pytest.raises(CombinationError, match="not for decoders"):
        TiledAttention(rows=2, columns=2, size=2).causal()
