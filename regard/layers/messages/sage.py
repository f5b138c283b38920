"""h'_i = W₁ · mean of h_j over the edges j → i + W₂ h_i + b

GraphSAGE with the mean aggregator: Hamilton et al., 2017, https://arxiv.org/abs/1706.02216. A node without neighbors
reads zeros from them.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.edge_sums import weighted_sum
from regard.layers.message import FeatureLinear, Merge, Message, Neighbors


@dataclass(frozen=True)
class Sage(Message):
    """The mean of the neighbors, and the node itself, each with a matrix of its own."""

    def build(self, width: int, output_width: int, merge: Merge = "join") -> "NeighborMean":
        return NeighborMean(width, output_width)


class NeighborMean(nn.Module):
    """W₁ in `neighbors`, W₂ in `own`, b in `bias`."""

    def __init__(self, width: int, output_width: int) -> None:
        super().__init__()
        self.neighbors = FeatureLinear(width, output_width, bias=False)
        self.own = FeatureLinear(width, output_width, bias=False)
        self.bias = nn.Parameter(torch.zeros(output_width))

    def forward(self, x: Float[Tensor, "nodes width"], neighbors: Neighbors) -> Float[Tensor, "nodes output_width"]:
        """The formula; the matrix comes first, since it makes the vectors narrower."""
        values = self.neighbors(x)
        columns, rows = neighbors.edges
        weights = 1 / neighbors.degrees(neighbors.edges).to(values).clamp(min=1)[rows, None]
        read = weighted_sum(weights, values[:, None], rows, columns, neighbors.nodes)[:, 0]
        output: Tensor = read + self.bias + self.own(x)
        return output
