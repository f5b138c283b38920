"""Deep Sets: a network for each element, a sum over them, and a network for the sum.

    f(X) = ρ(pool over x in X of φ(x)),  pool = sum, mean or max

Zaheer et al., 2017, https://arxiv.org/abs/1703.06114: every function of a set can be written so. With `exchange`, the
layers of φ let elements see the set, h_i = f(W x_i - V pool(x)), which commutes with permutations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from regard.data.set_examples import real_elements
from regard.layers.activation import ACTIVATIONS, Activation
from regard.layers.perceptron import Perceptron
from regard.models.model import Design, weights_in
from regard.models.set_model import SetModel

SetPool = Literal["sum", "mean", "max"]


@dataclass(frozen=True, kw_only=True)
class DeepSets(Design):
    """Settings of Deep Sets."""

    width: int = 128
    """the width of the features"""
    layers: int = 3
    """the number of layers of the network for each element, and of the one for the whole"""
    pool: SetPool = "sum"
    """how the features of the elements become those of the set"""
    exchange: Literal["none", "mean", "max"] = "none"
    """what each layer reads of the other elements: nothing, their mean or their maximum"""
    activation: Activation = "relu"
    """the activation between layers"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {"max": {"pool": "max"}, "mean": {"pool": "mean"}}
    needs: ClassVar[tuple[str, ...]] = ("elements", "outputs")

    def build(self, sizes: Mapping[str, int]) -> "DeepSetsModel":
        return DeepSetsModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model.layers, model.exchanges) * length + weights_in(model.output)


class DeepSetsModel(SetModel):
    """φ in `layers`, ρ in `output`."""

    def __init__(self, design: DeepSets, elements: int, outputs: int) -> None:
        super().__init__()
        self.design = design
        widths = [elements, *[design.width] * design.layers]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        exchanged = [] if design.exchange == "none" else widths[:-1]
        self.exchanges = nn.ModuleList(nn.Linear(width, design.width, bias=False) for width in exchanged)
        self.output = Perceptron(*[design.width] * design.layers, outputs, activation=design.activation)

    def encode(
        self, elements: Float[Tensor, "batch size element"], lengths: Int[Tensor, "batch"]
    ) -> tuple[Float[Tensor, "batch size width"], Bool[Tensor, "batch size"]]:
        keep, x = real_elements(elements, lengths), elements
        for at, layer in enumerate(self.layers):
            mapped = layer(x)
            if self.exchanges:
                mapped = mapped - self.exchanges[at](set_pool(x, keep, self.design.exchange))[:, None]
            x = ACTIVATIONS[self.design.activation](mapped)
        return x, keep

    def pooled(
        self, features: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"]
    ) -> Float[Tensor, "batch width"]:
        return set_pool(features, keep, self.design.pool)


def set_pool(
    x: Float[Tensor, "batch size width"], keep: Bool[Tensor, "batch size"], pool: str
) -> Float[Tensor, "batch width"]:
    """The sum, mean or maximum over the elements of each set; zeros for an empty set."""
    kept = keep[:, :, None]
    if pool == "max":
        none = ~keep.any(1, keepdim=True)
        lowest = torch.finfo(x.dtype).min
        return x.masked_fill(~kept, lowest).amax(1).masked_fill(none, 0.0) if x.shape[1] else x.sum(1)
    total = (x * kept).sum(1)
    return total if pool == "sum" else total / keep.sum(1, keepdim=True).clamp(min=1)
