"""Recurrent layers: Elman RNN, LSTM and GRU.

elman: h_t = tanh(W_h h_{t-1} + W_e x_t + b)                     Elman, 1990
lstm:  a cell with forget, input and output gates                Hochreiter and Schmidhuber, 1997
gru:   two gates and no separate cell                            Cho et al., 2014, https://arxiv.org/abs/1406.1078
"""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.base.errors import ConfigError, check_at_least

Cell = Literal["elman", "lstm", "gru"]
Directions = Literal["one", "both"]
States = tuple[Tensor, ...]
"""the states of all layers, [layers, batch, width]: the hidden states, and the cell states of an LSTM"""

CELLS: dict[str, Callable[..., nn.RNNBase]] = {"elman": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class Rnn(nn.Module):
    """A recurrent network of several layers. If it is bidirectional, each direction has half of the width."""

    def __init__(
        self,
        cell: Cell,
        input_width: int,
        width: int,
        layers: int = 1,
        directions: Directions = "one",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_at_least("recurrent", 1, width=width, layers=layers)
        ways = 2 if directions == "both" else 1
        if width % ways:
            raise ConfigError(f"recurrent: width ({width}) must be even, to be shared by two directions")
        between = dropout if layers > 1 else 0.0
        self.layers, self.width, self.ways = layers, width, ways
        self.states = 2 if cell == "lstm" else 1
        self.rnn = CELLS[cell](
            input_width, width // ways, layers, batch_first=True, dropout=between, bidirectional=ways == 2
        )

    def forward(
        self,
        x: Float[Tensor, "batch length input_width"],
        states: States | None = None,
        lengths: Int[Tensor, "batch"] | None = None,
    ) -> tuple[Float[Tensor, "batch length width"], States]:
        """The top layer's state at each position, and all layers' states at the end of each sequence.

        With `lengths`, padding beyond the end of a sequence is not read, and its outputs are zeros.
        """
        before = None if states is None else states if self.states == 2 else states[0]
        if lengths is None:
            output, after = self.rnn(x, before)
        else:
            packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            output, after = self.rnn(packed, before)
            output, _ = pad_packed_sequence(output, batch_first=True, total_length=x.shape[1])
        return output, tuple(self._side_by_side(state) for state in (after if self.states == 2 else (after,)))

    def zeros(self, rows: int) -> States:
        """The initial states: zeros."""
        weight = next(self.rnn.parameters())
        return tuple(weight.new_zeros(self.layers, rows, self.width) for _ in range(self.states))

    def _side_by_side(self, state: Tensor) -> Tensor:
        """Concatenate both directions of a layer."""
        return state if self.ways == 1 else state.unflatten(0, (self.layers, 2)).transpose(1, 2).flatten(2)


class Bridge(nn.Module):
    """Turns the encoder's last states into the decoder's first.

    The states pass as they are. Where widths differ they are projected, hidden states through tanh; where the
    numbers of layers differ, top layers are matched, and the encoder's last layer serves all that remain.
    """

    def __init__(self, encoder: Rnn, decoder: Rnn) -> None:
        super().__init__()
        self.layers = decoder.layers
        same = encoder.width == decoder.width
        count = 0 if same else decoder.states
        self.maps = nn.ModuleList(nn.Linear(encoder.width, decoder.width) for _ in range(count))

    def forward(self, states: States) -> States:
        """The decoder's first states."""
        fitted = []
        for at, state in enumerate(states):
            if len(state) < self.layers:
                state = torch.cat([state, state[-1:].expand(self.layers - len(state), -1, -1)])
            state = state[-self.layers :]
            if self.maps:
                state = self.maps[at](state)
                state = state.tanh() if at == 0 else state
            fitted.append(state)
        return tuple(fitted)
