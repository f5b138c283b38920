"""A multilayer perceptron: linear layers with an activation between them.

x ← f(W x + b) in every layer but the last, which is linear
"""

from itertools import pairwise

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.activation import ACTIVATIONS, Activation


class Perceptron(nn.Module):
    """Layers between these widths; with two widths it is one linear layer."""

    def __init__(self, *widths: int, activation: Activation = "relu") -> None:
        super().__init__()
        self.activation: Activation = activation
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))

    def forward(self, x: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch output_width"]:
        """The last layer's output."""
        for layer in self.layers[:-1]:
            x = ACTIVATIONS[self.activation](layer(x))
        output: Tensor = self.layers[-1](x)
        return output
