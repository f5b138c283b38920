"""Message passing: each node of a graph reads from the nodes that have an edge to it; one file each in `messages/`.

Message(…) is a value: the settings of a layer. `build` makes the module, which maps features [nodes, width] and the
graph's `Neighbors` to [nodes, output_width]. Every one commutes with a renumbering P of the nodes:

    F(P X, P A Pᵀ) = P F(X, A)

Gilmer et al., Neural Message Passing for Quantum Chemistry, 2017, https://arxiv.org/abs/1704.01212
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from regard.attention.masks.edges import Edges
from regard.base.catalog import Catalog
from regard.layers.dropout import Dropout

MESSAGES = Catalog("regard.layers.messages")

Merge = Literal["join", "mean"]
"""how the heads of a layer become its output: side by side, or their mean (the last layer)"""


@dataclass(frozen=True, eq=False)
class Neighbors:
    """The edges of a graph (from, to), sorted by `to`; with `looped`, also from each node to itself."""

    nodes: int
    edges: Int64[Tensor, "2 edges"]
    looped: Int64[Tensor, "2 edges_and_nodes"]

    @cached_property
    def seen(self) -> Edges:
        """The mask: a node attends to itself and to the nodes that have an edge to it."""
        return Edges(self.looped)

    def degrees(self, edges: Int64[Tensor, "2 some"]) -> Float[Tensor, "nodes"]:
        """How many edges each node has to it."""
        return torch.bincount(edges[1], minlength=self.nodes).float()


class Message(ABC):
    """Settings of a layer of message passing."""

    @abstractmethod
    def build(self, width: int, output_width: int, merge: Merge = "join") -> nn.Module:
        """Build the layer; where it has several heads, `merge` says how they become its output."""


class FeatureLinear(nn.Linear):
    """A linear layer whose input may be sparse rows (CSR), such as the words of a document."""

    def forward(self, x: Tensor) -> Float[Tensor, "nodes output_width"]:
        """W x + b."""
        if x.layout == torch.strided:
            return super().forward(x)
        output = torch.sparse.mm(x, self.weight.T)
        return output if self.bias is None else output + self.bias

    def reset_parameters(self) -> None:
        """Glorot's initialization, and no bias."""
        nn.init.xavier_uniform_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


class FeatureDropout(Dropout):
    """Dropout of features; of sparse rows, only what is stored can be dropped."""

    def forward(self, x: Tensor) -> Tensor:
        """x after dropout."""
        if x.layout == torch.strided or not self.training or not self.share:
            return super().forward(x)
        kept = super().forward(x.values())
        return torch.sparse_csr_tensor(x.crow_indices(), x.col_indices(), kept, x.shape, check_invariants=False)
