import pytest
import torch
from torch import nn

from regard.attention.position import sinusoid
from regard.attention.positions.learned import Learned
from regard.attention.positions.rotary import Rotary
from regard.attention.positions.sinusoidal import Sinusoidal
from regard.base.errors import ConfigError
from regard.layers.embedding import Embedding, split_positions, tie

TOKENS = torch.tensor([[2, 5, 7, 3], [2, 9, 3, 0]])


def test_rows_of_the_table_scaled_and_placed() -> None:
    layer = Embedding(10, 6, scale=3.0, positions=Sinusoidal()).double()
    expected = layer.table.weight[TOKENS] * 3 + sinusoid(torch.arange(4), 6)
    torch.testing.assert_close(layer(TOKENS), expected)


def test_positions_go_on_where_they_are_told_to() -> None:
    layer = Embedding(10, 6, positions=Learned(8))
    whole = layer(TOKENS)
    torch.testing.assert_close(layer(TOKENS[:, 2:], first=2), whole[:, 2:])


def test_without_positions_order_does_not_matter() -> None:
    layer = Embedding(10, 6)
    torch.testing.assert_close(layer(TOKENS.flip(1)), layer(TOKENS).flip(1))


def test_concatenated_positions_share_the_width() -> None:
    layer = Embedding(10, 6, positions=Sinusoidal(join="concatenate", width=2))
    assert layer.table.weight.shape == (10, 4)
    assert layer(TOKENS).shape == (2, 4, 6)
    with pytest.raises(ConfigError, match="leave nothing of width 6"):
        Embedding(10, 6, positions=Sinusoidal(join="concatenate", width=6))


def test_padding_is_zero_and_stays_zero() -> None:
    layer = Embedding(10, 6)
    layer(TOKENS).square().sum().backward()
    assert not layer.table.weight[0].any()
    assert layer.table.weight.grad is not None
    assert not layer.table.weight.grad[0].any()


def test_the_spread_of_fresh_vectors() -> None:
    assert Embedding(2000, 64).table.weight.std().item() == pytest.approx(1 / 8, rel=0.02)
    assert Embedding(2000, 64, std=0.02).table.weight.std().item() == pytest.approx(0.02, rel=0.02)


def test_positions_act_at_the_input_or_in_the_layers() -> None:
    assert split_positions("sinusoidal") == (Sinusoidal(), None)
    assert split_positions(Sinusoidal(layers="every")) == (None, Sinusoidal(layers="every"))
    assert split_positions("rotary") == (None, Rotary())
    assert split_positions(None) == (None, None)
    with pytest.raises(ConfigError, match=r"gpt.positions: unknown 'rotori'"):
        split_positions("rotori", "gpt.positions")


def test_tied_matrices_are_one() -> None:
    layer, output = Embedding(10, 6), nn.Linear(6, 10, bias=False)
    tie(output, layer)
    assert output.weight is layer.table.weight
    with pytest.raises(ConfigError, match=r"output \[11, 6\] and embedding \[10, 6\] must have the same shape"):
        tie(nn.Linear(6, 11), layer)


def test_ids_of_an_extended_vocabulary_are_read_as_unknown() -> None:
    embedding = Embedding(6, 4, beyond=1)
    found = embedding(torch.tensor([[5, 6, 99]]))
    assert torch.equal(found[0, 1:], embedding.table.weight[[1, 1]])
    assert torch.equal(found[0, 0], embedding.table.weight[5])
