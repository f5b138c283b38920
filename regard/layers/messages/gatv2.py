"""h'_i = ‖_heads Σ_j α_ij W₁ h_j + b,  α_ij = softmax_j of uᵀ leaky_relu(W₂ h_i + W₁ h_j), edges j → i and i itself

Brody et al., How Attentive are Graph Attention Networks?, 2022, https://arxiv.org/abs/2105.14491. Here each query may
rank the keys in an order of its own, which GAT's score cannot.
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.score import Score
from regard.attention.scores.additive import Additive
from regard.layers.graph_attention import GraphAttention, GraphHeads
from regard.layers.message import FeatureLinear, Merge


@dataclass(frozen=True)
class Gatv2(GraphHeads):
    """Attention to the neighbors with an additive score; keys and values are the same projection."""

    def build(self, width: int, output_width: int, merge: Merge = "join") -> "TwoProjections":
        return TwoProjections(self, width, output_width, merge)

    @property
    def score(self) -> Score:
        return Additive(spelling="bare", squash="leaky_inside")


class TwoProjections(GraphAttention):
    """W₂ in `query`, W₁ in `source`, each with a bias."""

    def __init__(self, design: Gatv2, width: int, output_width: int, merge: Merge) -> None:
        super().__init__(design, output_width, merge)
        self.query = FeatureLinear(width, self.heads * self.each)
        self.source = FeatureLinear(width, self.heads * self.each)

    def sides(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.query(x), self.source(x)
