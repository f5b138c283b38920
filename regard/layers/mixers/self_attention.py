"""Self-attention as the mixer of a layer.

Its settings (`heads`, `mask`, `score` …) are those of the model, which build the layer's
`regard.attention.multihead.Attention`; this file holds only the name by which a model chooses it.
"""

from dataclasses import dataclass, replace
from typing import Self

from regard.attention.masks.causal import Causal
from regard.attention.multihead import Attention, MultiHead
from regard.base.errors import check_one_of
from regard.layers.mixer import Mixer, View


@dataclass(frozen=True)
class SelfAttention(Mixer):
    """Self-attention with the model's settings; with default settings outside a model."""

    view: View = "both"
    """both: positions on both sides are seen; past: earlier ones only. A model sets it"""

    def __post_init__(self) -> None:
        check_one_of("self_attention", ("both", "past"), view=self.view)

    def build(self, width: int) -> MultiHead:
        return Attention(mask=Causal() if self.view == "past" else None).build(width)

    def causal(self) -> Self:
        return replace(self, view="past")
