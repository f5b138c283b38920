"""y_t = W_o (a_t · σ(b_t)) + b_o,  [a_t; b_t] = Σ_i K_i x_{t + (i - center) · dilation}

Each position sees the `width` positions around it, or itself and those before it. Gated: Dauphin et al., 2017,
https://arxiv.org/abs/1612.08083, and Gehring et al., ConvS2S, 2017, https://arxiv.org/abs/1705.03122; with tanh(a_t) in
place of a_t: van den Oord et al., WaveNet, 2016, https://arxiv.org/abs/1609.03499. Dilated, so that the reach grows
from layer to layer: Kalchbrenner et al., ByteNet, 2016, https://arxiv.org/abs/1610.10099. Separable, K_i a diagonal
followed by one matrix for all i: Kaiser et al., 2017, https://arxiv.org/abs/1706.03059.
"""

from dataclasses import dataclass, replace
from typing import Literal, Self

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.mask import Mask
from regard.base.errors import check_at_least, check_one_of
from regard.layers.initialize import xavier
from regard.layers.mixer import Mixer, View, check_past, kept_inputs

Gates = Literal["sigmoid", "tanh", "none"]
ConvolutionKernel = Literal["full", "separable"]


@dataclass(frozen=True, kw_only=True)
class Convolution(Mixer):
    """A gated convolution over positions."""

    width: int = 3
    """the kernel size: how many positions it covers"""
    dilation: int = 1
    """the distance between these positions"""
    growth: int = 1
    """the factor of the dilation from layer to layer; 2 doubles the receptive field with each"""
    gate: Gates = "sigmoid"
    """a · σ(b), tanh(a) · σ(b), or a alone"""
    kernel: ConvolutionKernel = "full"
    """full: all features at all positions; separable: each feature over positions by itself, then all features mixed"""
    view: View = "both"
    """both: positions on both sides are seen; past: earlier ones only. A model sets it"""

    def __post_init__(self) -> None:
        check_at_least("convolution", 1, width=self.width, dilation=self.dilation, growth=self.growth)
        check_one_of("convolution", ("sigmoid", "tanh", "none"), gate=self.gate)
        check_one_of("convolution", ("full", "separable"), kernel=self.kernel)
        check_one_of("convolution", ("both", "past"), view=self.view)

    def build(self, width: int) -> "GatedConvolution":
        return GatedConvolution(self, width)

    def causal(self) -> Self:
        return replace(self, view="past")

    def in_layer(self, at: int) -> Self:
        return replace(self, dilation=self.dilation * self.growth**at, growth=1)


@dataclass(frozen=True, eq=False)
class LastInputs:
    """The last inputs, which the next positions still see; None before the first."""

    inputs: Float[Tensor, "batch reach width"] | None = None

    def reorder(self, batch: Tensor) -> "LastInputs":
        """Select sequences of the batch, in the given order, as beam search does."""
        return self if self.inputs is None else LastInputs(self.inputs[batch])


class GatedConvolution(nn.Module):
    """K in `taps`, W_o and b_o in `output`; where it is separable, `taps` are diagonals and `mix` is the matrix."""

    def __init__(self, design: Convolution, width: int) -> None:
        super().__init__()
        self.gate, self.view, self.dilation = design.gate, design.view, design.dilation
        self.reach = (design.width - 1) * design.dilation
        inner = width if design.gate == "none" else 2 * width
        full = design.kernel == "full"
        self.taps = nn.Conv1d(
            width, inner if full else width, design.width, dilation=design.dilation, groups=1 if full else width
        )
        self.mix = None if full else nn.Linear(width, inner)
        self.output = nn.Linear(width, width)
        xavier(self)

    def forward(
        self,
        x: Float[Tensor, "batch length width"],
        *,
        keep: Tensor | Mask | None = None,
        at: Tensor | None = None,
    ) -> Float[Tensor, "batch length width"]:
        """All positions at once. Padding counts as zeros; neighbors are those in the tensor, whatever `at` says."""
        kept = kept_inputs(keep, x, "convolution")
        if kept is not None:
            x = x.masked_fill(~kept[:, :, None], 0.0)
        ahead = 0 if self.view == "past" else self.reach // 2
        return self._convolve(F.pad(x, (0, 0, self.reach - ahead, ahead)))

    def start(self) -> LastInputs:
        """The state before the first position."""
        check_past("convolution", self.view)
        return LastInputs()

    def advance(
        self, x: Float[Tensor, "batch length width"], memory: LastInputs
    ) -> tuple[Float[Tensor, "batch length width"], LastInputs]:
        """The next positions, after the last inputs."""
        before = x.new_zeros(len(x), self.reach, x.shape[2]) if memory.inputs is None else memory.inputs
        seen = torch.cat([before, x], dim=1)
        return self._convolve(seen), LastInputs(seen[:, seen.shape[1] - self.reach :])

    def _convolve(self, x: Tensor) -> Tensor:
        """The outputs of all positions whose kernel lies wholly inside."""
        hidden = self.taps(x.mT).mT
        hidden = hidden if self.mix is None else self.mix(hidden)
        if self.gate != "none":
            hidden, gate = hidden.chunk(2, dim=-1)
            hidden = (hidden.tanh() if self.gate == "tanh" else hidden) * gate.sigmoid()
        output: Tensor = self.output(hidden)
        return output

    def extra_repr(self) -> str:
        """The settings in the module's repr."""
        return f"gate={self.gate}, view={self.view}"
