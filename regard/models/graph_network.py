"""A graph network: layers of message passing, then a class for each node.

    h ← f(message(dropout(h), A));  P(class of node i) = softmax of the last layer's row i

F(P X, P A Pᵀ) = P F(X, A): renumbering the nodes renumbers the outputs. The presets have the papers' settings for Cora:
GCN, Kipf and Welling, 2017, https://arxiv.org/abs/1609.02907; GAT, Veličković et al., 2018,
https://arxiv.org/abs/1710.10903; GraphSAGE, Hamilton et al., 2017, https://arxiv.org/abs/1706.02216; GATv2, Brody et
al., 2022, https://arxiv.org/abs/2105.14491.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from jaxtyping import Float
from torch import Tensor, nn

from regard.data.graph import Graph
from regard.layers.activation import ACTIVATIONS, Activation
from regard.layers.message import MESSAGES, FeatureDropout, Neighbors
from regard.models.model import Design, Model, weights_in


@dataclass(frozen=True, kw_only=True)
class GraphNetwork(Design):
    """Settings of a graph network."""

    layers: int = 2
    """how many edges away a node sees"""
    width: int = 64
    """the width of the hidden features of a node, all heads together"""
    message: Annotated[Any, MESSAGES] = "gat(heads=8)"
    """what a node reads from its neighbors: gcn, sage, gat or gatv2"""
    last: Annotated[Any, MESSAGES] = None
    """the message passing of the last layer, whose heads are averaged; by default the same as of the others"""
    activation: Activation = "elu"
    """the activation between layers"""
    dropout: float = 0.0
    """applies to the input of every layer"""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "gcn": {"width": 16, "message": "gcn", "activation": "relu", "dropout": 0.5},
        "sage": {"width": 64, "message": "sage", "activation": "relu", "dropout": 0.5},
        "gat": {"message": "gat(heads=8, dropout=0.6)", "last": "gat(heads=1, dropout=0.6)", "dropout": 0.6},
        "gatv2": {"message": "gatv2(heads=8, dropout=0.6)", "last": "gatv2(heads=1, dropout=0.6)", "dropout": 0.6},
    }
    needs: ClassVar[tuple[str, ...]] = ("features", "classes")

    def build(self, sizes: Mapping[str, int]) -> "GraphNetworkModel":
        return GraphNetworkModel(self, *self.sizes_from(sizes))

    def multiplications(self, model: Any, length: float) -> tuple[float, float]:
        return 0.0, weights_in(model)


class GraphNetworkModel(Model):
    """The layers; each has a dropout before it."""

    def __init__(self, design: GraphNetwork, features: int, classes: int) -> None:
        super().__init__()
        self.activation, self.features = design.activation, features
        self.dropout = FeatureDropout(design.dropout)
        widths = [features, *[design.width] * (design.layers - 1), classes]
        hidden = [design.message.build(*pair) for pair in pairwise(widths[:-1])]
        self.layers = nn.ModuleList([*hidden, (design.last or design.message).build(*widths[-2:], "mean")])

    def forward(self, graph: Graph) -> Float[Tensor, "nodes classes"]:
        """The logits of each node's class."""
        logits: Tensor = self.layers[-1](*self._before_last(graph))
        return logits

    def hidden(self, graph: Graph) -> Float[Tensor, "nodes width"]:
        """The features of each node before the last layer."""
        return self._before_last(graph)[0]

    def _before_last(self, graph: Graph) -> tuple[Tensor, Neighbors]:
        neighbors = Neighbors(graph.nodes, graph.edges, graph.looped)
        x = self.dropout(graph.features)
        for layer in self.layers[:-1]:
            x = self.dropout(ACTIVATIONS[self.activation](layer(x, neighbors)))
        return x, neighbors
