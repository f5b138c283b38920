"""A recurrent network over positions: y_t = h_t,  h_t = cell(x_t, h_{t-1})

With the view "both" it is bidirectional, and each direction has half of the width. The cells are those of
`regard.layers.rnn`. As a branch of a Transformer layer: Chen et al., 2018, https://arxiv.org/abs/1804.09849
"""

from dataclasses import dataclass, replace
from typing import Self

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.base.errors import ShapeError, check_one_of
from regard.layers.mixer import Mixer, View, check_past, kept_inputs
from regard.layers.rnn import CELLS, Cell, Rnn, States


@dataclass(frozen=True, kw_only=True)
class Recurrent(Mixer):
    """A recurrent network over positions."""

    cell: Cell = "gru"
    """the recurrent cell: elman (a plain RNN), lstm or gru"""
    view: View = "both"
    """both: the network runs in both directions; past: forward only. A model sets it"""

    def __post_init__(self) -> None:
        check_one_of("recurrent", CELLS, cell=self.cell)
        check_one_of("recurrent", ("both", "past"), view=self.view)

    def build(self, width: int) -> "RecurrentMixing":
        return RecurrentMixing(self, width)

    def causal(self) -> Self:
        return replace(self, view="past")


@dataclass(frozen=True, eq=False)
class HiddenState:
    """The state of the cell after the last position; None before the first."""

    states: States | None = None

    def reorder(self, batch: Tensor) -> "HiddenState":
        """Select sequences of the batch, in the given order, as beam search does."""
        return self if self.states is None else HiddenState(tuple(state[:, batch] for state in self.states))


class RecurrentMixing(nn.Module):
    """A recurrent layer whose outputs have the width of its inputs."""

    def __init__(self, design: Recurrent, width: int) -> None:
        super().__init__()
        self.view = design.view
        self.rnn = Rnn(design.cell, width, width, directions="one" if design.view == "past" else "both")

    def forward(
        self,
        x: Float[Tensor, "batch length width"],
        *,
        keep: Tensor | Mask | None = None,
        at: Tensor | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """All positions, in the order of the tensor; padding at the end of a sequence is not read."""
        kept = kept_inputs(keep, x, "recurrent")
        if kept is None:
            return self.rnn(x)[0]
        lengths = kept.sum(1)
        if not torch.equal(kept, torch.arange(x.shape[1], device=x.device) < lengths[:, None]):
            raise ShapeError("recurrent: padding must stand at the end of a sequence, but keep has gaps before it")
        output: Tensor = self.rnn(x, lengths=lengths.clamp(min=1))[0]
        return output.masked_fill(~kept[:, :, None], 0.0)

    def start(self) -> HiddenState:
        """The state before the first position."""
        check_past("recurrent", self.view)
        return HiddenState()

    def advance(
        self, x: Float[Tensor, "batch length width"], memory: HiddenState
    ) -> tuple[Float[Tensor, "batch length width"], HiddenState]:
        """The next positions, after the last state."""
        output, states = self.rnn(x, memory.states)
        return output, HiddenState(states)
