"""Recurrent layers: Elman RNN, LSTM and GRU.

elman: h_t = σ(W_h h_{t-1} + W_e x_t + b), σ = tanh by default   Elman, 1990
lstm:  a cell with forget, input and output gates                Hochreiter and Schmidhuber, 1997
gru:   two gates and no separate cell                            Cho et al., 2014, https://arxiv.org/abs/1406.1078
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.base.errors import ConfigError, check_at_least
from regard.layers.activation import ACTIVATIONS, Activation

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
        activation: Activation = "tanh",
    ) -> None:
        super().__init__()
        check_at_least("recurrent", 1, width=width, layers=layers)
        if cell != "elman" and activation != "tanh":
            raise ConfigError(
                f"recurrent: activation is a setting of elman cells, but the cell is {cell}; leave it out"
            )
        ways = 2 if directions == "both" else 1
        if width % ways:
            raise ConfigError(f"recurrent: width ({width}) must be even, to be shared by two directions")
        between = dropout if layers > 1 else 0.0
        self.layers, self.width, self.ways = layers, width, ways
        self.states = 2 if cell == "lstm" else 1
        make = CELLS[cell] if activation == "tanh" else partial(Elman, activation)
        self.rnn = make(input_width, width // ways, layers, batch_first=True, dropout=between, bidirectional=ways == 2)

    def forward(
        self,
        x: Float[Tensor, "batch length input_width"],
        states: States | None = None,
        lengths: Int[Tensor, "batch"] | None = None,
    ) -> tuple[Float[Tensor, "batch length width"], States]:
        """The top layer's state at each position, and all layers' states at the end of each sequence.

        With `lengths`, padding beyond the end of a sequence is not read, and its outputs are zeros.
        """
        if self.states == 2 and x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):  # oneDNN has an LSTM in bfloat16 with AVX-512 alone
                long = None if states is None else tuple(state.float() for state in states)
                return self._run(x.float(), long, lengths)
        return self._run(x, states, lengths)

    def _run(self, x: Tensor, states: States | None, lengths: Tensor | None) -> tuple[Tensor, States]:
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


class Elman(nn.RNN):
    """torch's Elman network with any activation, step by step in Python; relu and tanh run in torch's own kernel."""

    def __init__(self, activation: Activation, *sizes: int, **settings: Any) -> None:
        known = activation if activation in ("relu", "tanh") else "tanh"
        super().__init__(*sizes, nonlinearity=known, **settings)
        self.activation = activation

    def forward(self, x: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """As torch's, for tensors and packed sequences."""
        if self.activation in ("relu", "tanh"):
            made, last = super().forward(x, hx)
            return made, last
        if not isinstance(x, PackedSequence):
            return self._walk(x, hx, None)
        padded, lengths = pad_packed_sequence(x, batch_first=True)
        output, last = self._walk(padded, hx, lengths.to(padded.device))
        return pack_padded_sequence(output, lengths, batch_first=True, enforce_sorted=False), last

    def _walk(self, x: Tensor, hx: Tensor | None, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        """All layers and directions over sequences whose padding is not read."""
        steps, ways = x.shape[1], 2 if self.bidirectional else 1
        there = None if lengths is None else torch.arange(steps, device=x.device) < lengths[:, None]
        last = []
        for layer in range(self.num_layers):
            sides = []
            for way in range(ways):
                at = layer * ways + way
                h = x.new_zeros(len(x), self.hidden_size) if hx is None else hx[at]
                outputs, h = self._direction(x, h, there, f"_l{layer}" + "_reverse" * way)
                sides.append(outputs)
                last.append(h)
            x = torch.cat(sides, dim=-1)
            if layer + 1 < self.num_layers:
                x = F.dropout(x, self.dropout, self.training)
        return x, torch.stack(last)

    def _direction(self, x: Tensor, h: Tensor, there: Tensor | None, name: str) -> tuple[Tensor, Tensor]:
        act, weight = ACTIVATIONS[self.activation], getattr(self, f"weight_hh{name}")
        taken = F.linear(x, getattr(self, f"weight_ih{name}"), getattr(self, f"bias_ih{name}"))
        taken = taken + getattr(self, f"bias_hh{name}")
        order = range(x.shape[1])
        made: dict[int, Tensor] = {}
        for t in reversed(order) if name.endswith("reverse") else order:
            new = act(taken[:, t] + F.linear(h, weight))
            h = new if there is None else torch.where(there[:, t, None], new, h)
            made[t] = h if there is None else h * there[:, t, None]
        return torch.stack([made[t] for t in order], dim=1), h


def share_recurrence(encoder: Rnn, decoder: Rnn, where: str) -> None:
    """One W^h for both networks: the decoder's recurrent matrices are the encoder's."""
    same = ("layers", "width", "ways", "states")
    differ = [name for name in same if getattr(encoder, name) != getattr(decoder, name)]
    if differ or type(encoder.rnn) is not type(decoder.rnn):
        raise ConfigError(
            f"{where}: to share W^h, encoder and decoder need the same cell, width and number of layers, and "
            "directions = 'one'"
        )
    for layer in range(decoder.layers):
        setattr(decoder.rnn, f"weight_hh_l{layer}", getattr(encoder.rnn, f"weight_hh_l{layer}"))


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
