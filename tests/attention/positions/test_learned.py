import pytest
import torch

from regard.attention.part import Sizes
from regard.attention.position import POSITIONS
from regard.attention.positions.learned import Learned
from regard.base.errors import ConfigError, ShapeError

SIZES = Sizes(width=6, heads=2, key_heads=2, query_width=4, key_width=4, value_width=4)


def test_adds_its_row_at_the_input() -> None:
    table, x = Learned(5).build(SIZES), torch.randn(2, 3, 6)
    at = torch.tensor([4, 0, 2])
    assert torch.equal(table.place(x, at, "input"), x + table.weight[[4, 0, 2]])
    assert table.place(x, at, "projection") is x


def test_adds_to_queries_keys_and_values_in_every_layer() -> None:
    table, query = Learned(5, layers="every").build(SIZES), torch.randn(2, 2, 3, 4)
    at = torch.tensor([[4, 0, 2], [1, 1, 0]])
    placed = table.place(query, at, "key")
    for batch in range(2):
        for head in range(2):
            for i in range(3):
                row = table.weight[at[batch, i], 4 * head : 4 * head + 4]
                torch.testing.assert_close(placed[batch, head, i], query[batch, head, i] + row)


@pytest.mark.parametrize(("layers", "role"), [("first", "input"), ("every", "projection")])
def test_stands_beside(layers: str, role: str) -> None:
    table, x = Learned(5, "concatenate", layers, 3).build(SIZES), torch.randn(2, 3, 6)
    placed = table.place(x, torch.tensor([4, 0, 2]), role)
    assert torch.equal(placed[..., :6], x)
    assert torch.equal(placed[..., 6:], table.weight[[4, 0, 2]].expand(2, 3, 3))


def test_past_its_length_it_says_what_would_be_right() -> None:
    table = Learned(5).build(SIZES)
    with pytest.raises(ShapeError, match=r"asked for position 5, but only 0 … 4 were learned; shorten.*sinusoidal"):
        table.place(torch.randn(1, 6, 6), torch.arange(6), "input")


def test_a_width_that_does_not_fit() -> None:
    with pytest.raises(ShapeError, match="learned positions: the vectors have width 6, but are to be added to width 4"):
        Learned(5).build(SIZES).place(torch.randn(1, 3, 4), torch.arange(3), "input")


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="learned: length must be at least 1, but is 0"):
        Learned(0)
    with pytest.raises(ConfigError, match="learned: join='concatenate' needs width=…"):
        POSITIONS.make("learned(9, join='concatenate')")
