"""Low-rank adapters (LoRA): a linear map whose matrix stays as it is, beside two thin matrices that learn.

    y = (W + α / r · B A) x + b,    A [r, in] random, B [out, r] zeros at first, W and b fixed

Hu et al., LoRA: Low-Rank Adaptation of Large Language Models, 2021, https://arxiv.org/abs/2106.09685. Afterwards
W + α / r · B A is one matrix again, so that a tuned model is as fast as the one it came from.
"""

import math
from collections.abc import Mapping

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.dropout import Dropout

_PARTS = ("frozen", "down", "up", "scale")


class LowRank(nn.Module):
    """A linear layer with an adapter; it has the name and place of the layer that it is made from."""

    scale: Tensor

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, dropout: float = 0.0) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.frozen, self.bias = linear.weight.requires_grad_(False), linear.bias
        if self.bias is not None:
            self.bias.requires_grad_(False)
        self.down = nn.Parameter(self.frozen.new_empty(rank, self.in_features))
        self.up = nn.Parameter(self.frozen.new_zeros(self.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))
        self.register_buffer("scale", self.frozen.new_tensor(alpha / rank))
        self.dropout = Dropout(dropout)

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """The matrix with its adapter."""
        return self.frozen + self.scale * (self.up @ self.down)

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        """In training, no gradient of the whole matrix is computed."""
        if not self.training:
            return F.linear(x, self.weight, self.bias)
        return F.linear(x, self.frozen, self.bias) + F.linear(
            F.linear(self.dropout(x), self.down), self.scale * self.up
        )


def merged(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a model with each adapter merged into its matrix, under the names of a model without adapters."""
    made = dict(weights)
    stems = [name.removesuffix("down") for name in weights if name.endswith(".down")]
    for stem in stems:
        names = [f"{stem}{part}" for part in _PARTS]
        if all(name in made for name in names):
            frozen, down, up, scale = (made.pop(name) for name in names)
            made[f"{stem}weight"] = frozen + scale * (up @ down)
    return made
