"""A network for contrastive learning: features, and a projector that only training reads.

    h = f(x),  z = W₂ relu(W₁ h);  z is compared (see `training/contrast_loss.py`), h is the code

Chen et al., SimCLR, 2020, https://arxiv.org/abs/2002.05709: a probe finds more in h than in z. f is
a perceptron, or convolutions along a signal with a stride of 2.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.perceptron import Perceptron
from regard.models.model import Design, weights_in
from regard.models.reconstructor import Coder


@dataclass(frozen=True, kw_only=True)
class Contrastive(Design):
    """Settings of a network for contrastive learning."""

    network: Literal["perceptron", "convolution"] = "convolution"
    """how features are made: layers over all numbers, or convolutions along a signal"""
    width: int = 64
    """the width of hidden layers: channels of convolutions"""
    layers: int = 3
    """the number of hidden layers; each convolution halves the length of a signal"""
    kernel: int = 5
    """how many neighbors a convolution sees"""
    code: int = 128
    """the width of the features"""
    projection: int = 64
    """the width of what is compared"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"plain": {"network": "perceptron", "width": 256}}
    needs: ClassVar[tuple[str, ...]] = ("numbers", "views")

    def build(self, sizes: Mapping[str, int]) -> "ContrastiveModel":
        return ContrastiveModel(self, self.sizes_from(sizes)[0])

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, 2 * weights_in(model)


class ContrastiveModel(Coder):
    """f in `network`, the projector in `projector`."""

    def __init__(self, design: Contrastive, numbers: int) -> None:
        super().__init__()
        self.network: nn.Module
        if design.network == "perceptron":
            self.network = Perceptron(numbers, *[design.width] * design.layers, design.code)
        else:
            self.network = SignalNetwork(numbers, design.width, design.layers, design.kernel, design.code)
        self.projector = Perceptron(design.code, design.code, design.projection)

    def code(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch code"]:
        made: Tensor = self.network(inputs)
        return made

    def forward(self, inputs: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch projection"]:
        """What is compared."""
        projected: Tensor = self.projector(self.code(inputs).relu())
        return projected


class SignalNetwork(nn.Module):
    """Convolutions along a signal, then a linear layer over what is left of it."""

    def __init__(self, numbers: int, width: int, layers: int, kernel: int, output_width: int) -> None:
        super().__init__()
        channels = [1, *[width] * layers]
        self.layers = nn.ModuleList(
            nn.Conv1d(channels[at], width, kernel, stride=2, padding=kernel // 2) for at in range(layers)
        )
        length = numbers
        for _ in range(layers):
            length = (length + 2 * (kernel // 2) - kernel) // 2 + 1
        self.output = nn.Linear(width * length, output_width)

    def forward(self, x: Float[Tensor, "batch numbers"]) -> Float[Tensor, "batch output_width"]:
        """The features of each signal."""
        hidden = x[:, None]
        for layer in self.layers:
            hidden = layer(hidden).relu()
        made: Tensor = self.output(hidden.flatten(1))
        return made
