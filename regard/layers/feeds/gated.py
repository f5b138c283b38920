"""Gated linear unit: FFN(x) = W₂ (f(W₁ x + b₁) ⊙ (V x + c)) + b₂, one half of the hidden layer gates the other

| f        | known as |
|----------|----------|
| sigmoid  | GLU, Dauphin et al., 2017, https://arxiv.org/abs/1612.08083 |
| silu     | SwiGLU, as in LLaMA |
| gelu     | GEGLU |
| relu     | ReGLU |
| identity | bilinear |

All in Shazeer, 2020, https://arxiv.org/abs/2002.05202. There are three matrices where a plain feed has two: with two
thirds of its hidden width, it has as many weights.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.activation import Activation, activated
from regard.layers.dropout import Dropout
from regard.layers.feed import HiddenFeed


@dataclass(frozen=True)
class Gated(HiddenFeed):
    """A gated feed-forward layer; by default with SiLU (SwiGLU)."""

    def build(self, width: int, output_width: int | None = None) -> "GatedFeedForward":
        return GatedFeedForward(
            width,
            self.hidden or 4 * width,
            output_width or width,
            self.activation or "silu",
            self.dropout or 0.0,
            self.bias is not False,
        )


class GatedFeedForward(nn.Module):
    """[W₁; V] and [b₁; c] in `inner`, so that one product serves both; W₂, b₂ in `outer`."""

    def __init__(
        self, width: int, hidden: int, output_width: int, activation: Activation, dropout: float, bias: bool = True
    ) -> None:
        super().__init__()
        self.activation = activation
        self.inner = nn.Linear(width, 2 * hidden, bias)
        self.outer = nn.Linear(hidden, output_width, bias)
        self.dropout = Dropout(dropout)
        for matrix in (*self.inner.weight.chunk(2), self.outer.weight):
            nn.init.xavier_uniform_(matrix)
        if bias:
            nn.init.zeros_(self.inner.bias)
            nn.init.zeros_(self.outer.bias)

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch output_width"]:
        """The formula."""
        gate, hidden = self.inner(x).chunk(2, dim=-1)
        opened = activated(self.activation, gate)
        opened = opened * hidden if torch.is_grad_enabled() else opened.mul_(hidden)  # a large buffer less
        output: Tensor = self.outer(self.dropout(opened))
        return output

    def extra_repr(self) -> str:
        """The settings in the module's repr."""
        return self.activation
