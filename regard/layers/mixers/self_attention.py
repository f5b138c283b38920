"""Attention of a text to itself, as the mixer of a layer.

What it is made of are settings of the model (`heads`, `mask`, `score` …), which give a layer its
`regard.attention.multihead.Attention`; here is only the name by which a model chooses it.
"""

from dataclasses import dataclass, replace
from typing import Self

from regard.attention.masks.causal import Causal
from regard.attention.multihead import Attention, MultiHead
from regard.base.errors import check_one_of
from regard.layers.mixer import Mixer, View


@dataclass(frozen=True)
class SelfAttention(Mixer):
    """Attention of the parts that the model names; of the usual ones where there is no model."""

    view: View = "both"

    def __post_init__(self) -> None:
        check_one_of("self_attention", ("both", "past"), view=self.view)

    def build(self, width: int) -> MultiHead:
        return Attention(mask=Causal() if self.view == "past" else None).build(width)

    def causal(self) -> Self:
        return replace(self, view="past")
