"""H' = D^-½ (A + I) D^-½ H W + b,  D the degrees, self-loops counted

Graph convolution: Kipf and Welling, 2017, https://arxiv.org/abs/1609.02907
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.attention.edge_sums import weighted_sum
from regard.layers.message import FeatureLinear, Merge, Message, Neighbors


@dataclass(frozen=True)
class Gcn(Message):
    """A weighted sum over neighbors and the node itself, with fixed weights: a node with many edges counts less."""

    def build(self, width: int, output_width: int, merge: Merge = "join") -> "GraphConvolution":
        return GraphConvolution(width, output_width)


class GraphConvolution(nn.Module):
    """W in `project`, b in `bias`."""

    def __init__(self, width: int, output_width: int) -> None:
        super().__init__()
        self.project = FeatureLinear(width, output_width, bias=False)
        self.bias = nn.Parameter(torch.zeros(output_width))

    def forward(self, x: Float[Tensor, "nodes width"], neighbors: Neighbors) -> Float[Tensor, "nodes output_width"]:
        """The formula."""
        values = self.project(x)
        columns, rows = neighbors.looped
        scale = neighbors.degrees(neighbors.looped).to(values).rsqrt()
        weights = (scale[rows] * scale[columns])[:, None]
        return weighted_sum(weights, values[:, None], rows, columns, neighbors.nodes)[:, 0] + self.bias
