import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.base.errors import ConfigError, ShapeError
from regard.layers.mixers.recurrent import Recurrent

X = torch.randn(2, 5, 8, dtype=torch.float64)
KINDS = {"gru": nn.GRU, "lstm": nn.LSTM, "elman": nn.RNN}


@pytest.mark.parametrize("cell", KINDS)
@pytest.mark.parametrize("view", ["both", "past"])
def test_against_torch(cell: str, view: str) -> None:
    layer = Recurrent(cell=cell, view=view).build(8).double()
    ways = 2 if view == "both" else 1
    theirs = KINDS[cell](8, 8 // ways, batch_first=True, bidirectional=view == "both", dtype=torch.float64)
    theirs.load_state_dict(layer.rnn.rnn.state_dict())
    torch.testing.assert_close(layer(X), theirs(X)[0])
    lengths = torch.tensor([5, 2])
    packed, _ = theirs(pack_padded_sequence(X, lengths, batch_first=True))
    expected, _ = pad_packed_sequence(packed, batch_first=True)
    torch.testing.assert_close(layer(X, keep=(torch.arange(5) < lengths[:, None])[:, None, None]), expected)


@pytest.mark.parametrize("cell", KINDS)
def test_step_by_step(cell: str) -> None:
    layer = Recurrent(cell=cell).causal().build(8).double()
    whole, state = layer(X), layer.start()
    for t in range(5):
        output, state = layer.advance(X[:, t : t + 1], state)
        torch.testing.assert_close(output[:, 0], whole[:, t])
    assert state.states is not None
    assert len(state.states) == (2 if cell == "lstm" else 1)


def test_a_sequence_of_nothing_but_padding_gives_zeros() -> None:
    layer = Recurrent().build(8).double()
    output = layer(X, keep=torch.tensor([[True] * 5, [False] * 5])[:, None, None])
    assert not output[1].any()
    torch.testing.assert_close(output[0], layer(X)[0])


def test_padding_stands_at_the_end() -> None:
    keep = torch.tensor([[True] * 5, [False, True, True, True, True]])[:, None, None]
    with pytest.raises(ShapeError, match="recurrent: padding must stand at the end"):
        Recurrent().build(8).double()(X, keep=keep)


def test_settings_out_of_range_are_refused(unchecked: None) -> None:
    with pytest.raises(ConfigError, match=r"recurrent.cell: unknown 'gruu' \(did you mean 'gru'\?\)"):
        Recurrent(cell="gruu")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"recurrent.view: unknown 'ahead'"):
        Recurrent(view="ahead")  # type: ignore[arg-type]
