"""h'_i = ‖_heads Σ_j α_ij W h_j + b,  α_ij = softmax_j of leaky_relu(aᵀ [W h_i; W h_j]) over edges j → i and i itself

Graph attention: Veličković et al., 2018, https://arxiv.org/abs/1710.10903. In the last layer the heads are averaged.
"""

from dataclasses import dataclass

from torch import Tensor

from regard.attention.score import Score
from regard.attention.scores.leaky_sum import LeakySum
from regard.layers.graph_attention import GraphAttention, GraphHeads
from regard.layers.message import FeatureLinear, Merge


@dataclass(frozen=True)
class Gat(GraphHeads):
    """Attention to the neighbors; queries, keys and values are the same projection."""

    def build(self, width: int, output_width: int, merge: Merge = "join") -> "SharedProjection":
        return SharedProjection(self, width, output_width, merge)

    @property
    def score(self) -> Score:
        return LeakySum()


class SharedProjection(GraphAttention):
    """W in `project`."""

    def __init__(self, design: Gat, width: int, output_width: int, merge: Merge) -> None:
        super().__init__(design, output_width, merge)
        self.project = FeatureLinear(width, self.heads * self.each, bias=False)

    def sides(self, x: Tensor) -> tuple[Tensor, Tensor]:
        projected = self.project(x)
        return projected, projected
