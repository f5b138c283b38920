import pytest
import torch
from torch import Tensor

from regard.base.errors import ConfigError
from regard.layers.activation import ACTIVATIONS
from regard.layers.rnn import CELLS, Bridge, Rnn, share_recurrence

LENGTHS = torch.tensor([5, 2, 4])


def by_hand(cell: str, layer: Rnn, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """One step of one layer, from the formulas."""
    rnn = layer.rnn
    taken = x @ rnn.weight_ih_l0.T + rnn.bias_ih_l0
    kept = h @ rnn.weight_hh_l0.T + rnn.bias_hh_l0
    if cell == "elman":
        return (taken + kept).tanh(), c
    if cell == "lstm":
        enter, forget, new, show = (taken + kept).chunk(4, dim=-1)
        c = forget.sigmoid() * c + enter.sigmoid() * new.tanh()
        return show.sigmoid() * c.tanh(), c
    (reset, update, new), (reset_h, update_h, new_h) = taken.chunk(3, dim=-1), kept.chunk(3, dim=-1)
    stay = (update + update_h).sigmoid()
    return (1 - stay) * (new + (reset + reset_h).sigmoid() * new_h).tanh() + stay * h, c


@pytest.mark.parametrize("cell", CELLS)
def test_against_the_formulas(cell: str) -> None:
    layer = Rnn(cell, 3, 4).double()
    x = torch.randn(2, 5, 3, dtype=torch.float64)
    h = c = torch.zeros(2, 4, dtype=torch.float64)
    output, states = layer(x)
    for t in range(5):
        h, c = by_hand(cell, layer, x[:, t], h, c)
        torch.testing.assert_close(output[:, t], h)
    torch.testing.assert_close(states[0][0], h)
    if cell == "lstm":
        torch.testing.assert_close(states[1][0], c)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("directions", ["one", "both"])
def test_padding_changes_nothing(cell: str, directions: str) -> None:
    layer = Rnn(cell, 3, 4, layers=2, directions=directions).double()
    x = torch.randn(3, 5, 3, dtype=torch.float64)
    output, states = layer(x, lengths=LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, last = layer(x[row : row + 1, :length])
        torch.testing.assert_close(output[row : row + 1, :length], alone)
        assert not output[row, length:].any()
        for ours, theirs in zip(states, last, strict=True):
            torch.testing.assert_close(ours[:, row : row + 1], theirs)


@pytest.mark.parametrize("cell", CELLS)
def test_step_by_step_is_all_at_once(cell: str) -> None:
    layer = Rnn(cell, 3, 4, layers=2)
    x = torch.randn(2, 5, 3)
    whole, last = layer(x)
    states = layer.zeros(2)
    for t in range(5):
        output, states = layer(x[:, t : t + 1], states)
        torch.testing.assert_close(output[:, 0], whole[:, t])
    for ours, theirs in zip(states, last, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_last_states_of_both_directions_stand_side_by_side() -> None:
    layer = Rnn("gru", 3, 4, layers=2, directions="both")
    output, (last,) = layer(torch.randn(2, 5, 3))
    assert last.shape == (2, 2, 4)
    torch.testing.assert_close(last[-1, :, :2], output[:, -1, :2])
    torch.testing.assert_close(last[-1, :, 2:], output[:, 0, 2:])


def test_faults_are_named() -> None:
    with pytest.raises(ConfigError, match=r"width \(5\) must be even"):
        Rnn("gru", 3, 5, directions="both")
    with pytest.raises(ConfigError, match="layers must be at least 1"):
        Rnn("gru", 3, 4, layers=0)


def test_equal_states_pass_the_bridge_as_they_are() -> None:
    encoder, decoder = Rnn("lstm", 3, 4, 2, "both"), Rnn("lstm", 5, 4, 2)
    bridge = Bridge(encoder, decoder)
    states = (torch.randn(2, 3, 4), torch.randn(2, 3, 4))
    for ours, theirs in zip(bridge(states), states, strict=True):
        assert torch.equal(ours, theirs)
    assert not list(bridge.parameters())


def test_where_widths_differ_states_are_projected() -> None:
    bridge = Bridge(Rnn("lstm", 3, 6), Rnn("lstm", 5, 4))
    states = (torch.randn(1, 3, 6), torch.randn(1, 3, 6))
    hidden, cells = bridge(states)
    torch.testing.assert_close(hidden, (states[0] @ bridge.maps[0].weight.T + bridge.maps[0].bias).tanh())
    torch.testing.assert_close(cells, states[1] @ bridge.maps[1].weight.T + bridge.maps[1].bias)


@pytest.mark.parametrize(("layers", "expected"), [(1, [1]), (2, [0, 1]), (3, [0, 1, 1])])
def test_where_layers_differ_the_top_ones_meet(layers: int, expected: list[int]) -> None:
    bridge = Bridge(Rnn("gru", 3, 4, 2), Rnn("gru", 3, 4, layers))
    state = torch.randn(2, 3, 4)
    assert torch.equal(bridge((state,))[0], state[expected])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_elman_cell_takes_any_activation(activation: str) -> None:
    layer = Rnn("elman", 3, 4, activation=activation).double()
    x, h = torch.randn(2, 5, 3, dtype=torch.float64), torch.zeros(2, 4, dtype=torch.float64)
    output, states = layer(x)
    for t in range(5):
        taken = x[:, t] @ layer.rnn.weight_ih_l0.T + layer.rnn.bias_ih_l0
        h = ACTIVATIONS[activation](taken + h @ layer.rnn.weight_hh_l0.T + layer.rnn.bias_hh_l0)
        torch.testing.assert_close(output[:, t], h)
    torch.testing.assert_close(states[0][0], h)


@pytest.mark.parametrize("directions", ["one", "both"])
def test_the_loop_in_python_is_torch_s_kernel(directions: str, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = Rnn("elman", 3, 4, 2, directions, activation="relu").double()
    x = torch.randn(3, 5, 3, dtype=torch.float64)
    inside, last = layer(x, lengths=LENGTHS)
    monkeypatch.setitem(ACTIVATIONS, "mine", torch.relu)
    monkeypatch.setattr(layer.rnn, "activation", "mine")
    outside, ours = layer(x, lengths=LENGTHS)
    torch.testing.assert_close(outside, inside)
    torch.testing.assert_close(ours[0], last[0])


def test_other_cells_have_their_own_activations() -> None:
    with pytest.raises(ConfigError, match="activation is a setting of elman cells, but the cell is gru"):
        Rnn("gru", 3, 4, activation="relu")


def test_two_networks_share_one_recurrent_matrix() -> None:
    encoder, decoder = Rnn("gru", 3, 4, 2), Rnn("gru", 5, 4, 2)
    share_recurrence(encoder, decoder, "share")
    assert decoder.rnn.weight_hh_l1 is encoder.rnn.weight_hh_l1
    output, _ = decoder(torch.randn(1, 2, 5))
    output.sum().backward()
    assert encoder.rnn.weight_hh_l0.grad is not None
    with pytest.raises(ConfigError, match="share: to share W\\^h, encoder and decoder need the same cell"):
        share_recurrence(Rnn("gru", 3, 4, directions="both"), decoder, "share")
